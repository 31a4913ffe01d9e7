"""Sandboxes for tests: one that only repeats, and the real ones where this machine has them."""

import functools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from agent.security.sandbox import runner as sandbox_runner
from agent.security.sandbox.base import SandboxJob, SandboxOutcome
from agent.security.sandbox.bubblewrap import Bubblewrap, find_program
from tests.waits import wait_until_sync

_START_TIMEOUT_S = 10.0
# The flag of a socket that takes connections
_ACCEPTING = "00010000"


class EchoingSandbox:
    """Runs nothing: every job is kept, and ends well with the same words."""

    name = "an echo"

    def __init__(self, workspace: Path, printed: bytes = b"printed") -> None:
        self.workspace = workspace
        self.printed = printed
        self.jobs: list[SandboxJob] = []

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        self.jobs.append(job)
        return SandboxOutcome(0, self.printed, b"")


@functools.cache
def no_bubblewrap() -> str:
    """Why programs cannot be kept apart by it here; empty where they can."""
    program = find_program()
    if program is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    trouble = Bubblewrap(Path("/nowhere"), program).trouble()
    return trouble and f"bubblewrap cannot create namespaces here: {trouble}"


def no_activation() -> str:
    """Why no socket can be served as systemd would; empty where it can."""
    there = which("systemd-socket-activate")
    return "" if there else "systemd-socket-activate is not installed: apt-get install systemd"


def bubblewrap(workspace: Path) -> Bubblewrap:
    return Bubblewrap(workspace, find_program() or "")


@contextmanager
def activated(address: Path, *options: str) -> Iterator[None]:
    """Our runner behind a real socket, started for each connection as the unit would."""
    runner = [sys.executable, "-I", "-S", sandbox_runner.__file__, *options]
    listen = ["systemd-socket-activate", "--accept", "--inetd", "-l", str(address), *runner]
    with subprocess.Popen(listen, stderr=subprocess.DEVNULL) as server:
        try:
            wait_until_sync(lambda: _is_listened_to(address))
            yield
        finally:
            server.terminate()


def _is_listened_to(address: Path) -> bool:
    """As the kernel says; a connection to try it would start a runner."""
    sockets = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()
    found = (line.split() for line in sockets if line.endswith(f" {address}"))
    return any(fields[3] == _ACCEPTING for fields in found)
