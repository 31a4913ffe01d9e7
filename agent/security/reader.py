"""Isolated run of our own small programs that read hostile documents.

In the sandbox of this machine, or in a process with limits where there is none. They see the
interpreter, themselves and what they are given; no environment, no workspace, no network.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from agent.security.sandbox.base import MAX_STREAM_BYTES, Sandbox, SandboxJob, SandboxOutcome
from agent.security.sandbox.process import LimitedProcess

# A page or a datasheet of a thousand pages takes a fraction of it, a bomb takes everything
READ_TIMEOUT_S = 30.0
_SYSTEM = Path("/usr")


class ReaderRun(Struct, frozen=True):
    """A reader program, its words and its input.

    Args:
        with_packages: it imports more than the standard library.
    """

    program: str
    words: Sequence[str]
    given: bytes | BinaryIO
    timeout_s: float = READ_TIMEOUT_S
    cpu_s: float = READ_TIMEOUT_S
    with_packages: bool = False
    stream_bytes: int = MAX_STREAM_BYTES


async def read_apart(reading: ReaderRun, sandbox: Sandbox | None) -> SandboxOutcome:
    """Run the program and return its outcome.

    Raises:
        SandboxBroken: it was not run.
    """
    # Isolated: nothing beside the program or in the environment is imported
    options = ("-I",) if reading.with_packages else ("-I", "-S")
    job = SandboxJob(
        (sys.executable, *options, reading.program, *reading.words),
        needs=_needs(reading.program),
        given=reading.given,
        timeout_s=reading.timeout_s,
        cpu_s=reading.cpu_s,
        stream_bytes=reading.stream_bytes,
    )
    return await (sandbox or LimitedProcess()).run(job)


def _needs(program: str) -> list[Path]:
    """Return the interpreter with its packages, and the program."""
    wanted = (Path(sys.prefix), Path(sys.base_prefix), Path(program).absolute())
    return [path for path in wanted if not path.is_relative_to(_SYSTEM)]
