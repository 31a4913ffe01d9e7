"""Seam of the sandbox: a job, its limits and its outcome.

A program in a sandbox has a read-only system, the workspace, a home and the network if the job
allows them, and limits of memory and time; its children end with it. Without a working sandbox no
program runs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec import Struct, field

# Long enough for a search through a whole card, short enough for a person who waits
TIMEOUT_S = 60.0
# Of each stream; a model is shown far less
MAX_STREAM_BYTES = 1024 * 1024
# A Pi with 512 MB has no more to give to something it does not trust
MEMORY_BYTES = 64 * 1024 * 1024
# Programs and shared libraries are mapped but take no memory of their own: four times as much
_MAPPED_TIMES = 4
# A script and a pipe of programs, and far from what would slow the agent down
MAX_PROCESSES = 64
MAX_FILES = 256
# Of one file that is written, and of the temporary folder, which is memory
MAX_FILE_BYTES = 16 * 1024 * 1024
_PRLIMIT = "/usr/bin/prlimit"


class SandboxRoom(Struct, frozen=True):
    """Room of a program beside memory and time: few need more than the usual.

    Args:
        maps_freely: address space is not counted, only what it makes its own.
        scratch_bytes: of each temporary folder, which is memory.
    """

    processes: int = MAX_PROCESSES
    files: int = MAX_FILES
    scratch_bytes: int = MAX_FILE_BYTES
    maps_freely: bool = False


_USUAL = SandboxRoom()


class SandboxJob(Struct, frozen=True):
    """A program to run.

    Args:
        argv: exactly what is executed; the first word is looked for in PATH.
        environment: all of it.
        folder: where it begins, beneath the workspace; None where it has no workspace at all.
        writes: it may change the workspace; otherwise it can only read there.
        needs: further files and folders of this machine that it can read.
        given: what it reads, in memory, as an open file or a socket; nothing by default.
        home: a folder of its own that it may fill, where it begins; not beside a workspace.
        is_online: it may use the network of this machine.
        heard: called with each piece of its standard output as it comes.
        file_bytes: the largest file that it may write outside the workspace.
        cpu_s: of the processor's time; what only waits takes none.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    writes: bool = False
    needs: Sequence[Path] = ()
    given: bytes | BinaryIO = b""
    home: Path | None = None
    is_online: bool = False
    heard: Callable[[bytes], None] | None = None
    file_bytes: int = 0
    timeout_s: float = TIMEOUT_S
    cpu_s: float = TIMEOUT_S
    memory_bytes: int = MEMORY_BYTES
    stream_bytes: int = MAX_STREAM_BYTES
    room: SandboxRoom = _USUAL


class SandboxOutcome(Struct, frozen=True):
    """Outcome of a program.

    Args:
        exit: its status; None where it was ended before it was done.
        truncated: a stream was longer than it may be; the rest is lost.
        ended: why it was ended, in words; empty where it ended by itself.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    ended: str = ""


class Sandbox(Protocol):
    """Runs programs isolated from everything else."""

    # For people, such as "bubblewrap"
    name: str

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        """Run the job to its end, or end it with everything it started.

        Raises:
            SandboxBroken: nothing was run, or what became of it is not known.
        """


def limited(job: SandboxJob) -> list[str]:
    """Return the words behind a program that lowers the limits and then becomes them."""
    written = MAX_FILE_BYTES if job.writes else job.file_bytes
    mapped = [] if job.room.maps_freely else [f"--as={_MAPPED_TIMES * job.memory_bytes}"]
    return [
        _PRLIMIT,
        # What a process makes its own is memory; mapped files are not
        f"--data={job.memory_bytes}",
        *mapped,
        f"--cpu={max(math.ceil(job.cpu_s), 1)}",
        f"--nproc={job.room.processes}",
        f"--nofile={job.room.files}",
        f"--fsize={written}",
        "--core=0",
        "--",
        *job.argv,
    ]
