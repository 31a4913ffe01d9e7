"""Sandbox of namespaces made by bubblewrap, for machines without our systemd units.

The program sees the system's programs read-only, an empty /tmp and, where it may, the workspace or
a home under its own path; no other processes, no other files, no way to more rights, and the
network only where the job says so.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from agent.security.environment import PATH, child_environment
from agent.security.grammars.base import KEPT_RESULTS
from agent.security.sandbox.base import SandboxJob, SandboxOutcome, limited
from agent.security.sandbox.disk import refuse_foreign_names
from agent.security.sandbox.process import run_here

# A Pi under load starts a process in a tenth of it
PROBE_TIMEOUT_S = 5.0
# How the folders of programs and libraries are called, whether links into /usr or not
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
# Where libraries are, what time it is here, and which of several programs a name means
_ETC = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
# How names are looked up, and which certificates are trusted; never a private key
_ONLINE_ETC = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/passwd", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates"),
)
_NOBODY = "65534"
_APART = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", _NOBODY, "--gid", _NOBODY),
    *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname", "sandbox"),
)


class Bubblewrap:
    """Runs programs in their own namespaces."""

    name = "bubblewrap"

    def __init__(self, workspace: Path, program: str) -> None:
        self._workspace = workspace.absolute()
        self._program = program

    def trouble(self) -> str:
        """Return bubblewrap's own reason why it does not work here; "" if it works."""
        probe = SandboxJob(["true"], child_environment(self._workspace), None)
        try:
            done = subprocess.run(  # noqa: S603 - our own words
                self.command(probe),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_TIMEOUT_S,
                env=dict(probe.environment),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as err:
            return type(err).__name__
        if done.returncode == 0:
            return ""
        return done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        if job.folder is not None:
            self._workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            await asyncio.to_thread(refuse_foreign_names, self._workspace)
        return await run_here(self.command(job), job, self._workspace if job.writes else job.home)

    def command(self, job: SandboxJob) -> list[str]:
        network = ("--share-net",) if job.is_online else ()
        return [self._program, *_APART, *network, *self._mounts(job), "--", *limited(job)]

    def _mounts(self, job: SandboxJob) -> Iterator[str]:
        yield from _system()
        room = str(job.room.scratch_bytes)
        # What is written there is memory, so that each has its size
        yield from ("--proc", "/proc", "--dev", "/dev", "--size", room, "--tmpfs", "/dev/shm")  # noqa: S108
        yield from ("--remount-ro", "/dev", "--size", room, "--tmpfs", "/tmp")  # noqa: S108 - its own
        if job.is_online:
            for file in _ONLINE_ETC:
                yield from ("--ro-bind-try", file, file)
        for needed in job.needs:
            yield from ("--ro-bind", str(needed), str(needed))
        if job.home is not None:
            yield from ("--bind", str(job.home), str(job.home), "--chdir", str(job.home))
        if job.folder is not None:
            home = str(self._workspace)
            yield from ("--bind" if job.writes else "--ro-bind", home, home)
            if (self._workspace / KEPT_RESULTS).is_dir():
                yield from ("--size", "4096", "--tmpfs", f"{home}/{KEPT_RESULTS}")
            yield from ("--chdir", str(self._workspace / job.folder))
        yield from ("--remount-ro", "/")


def find_program() -> str | None:
    return shutil.which("bwrap", path=PATH)


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, _SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for file in _ETC:
        yield from ("--ro-bind-try", file, file)
