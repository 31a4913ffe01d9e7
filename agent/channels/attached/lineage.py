"""Whether a process is one that the agent itself has started: it runs as the agent, and is nobody.

Known by its parents, by a user namespace that is not ours, and in a service by its control group,
which a process cannot leave. What cannot be found out counts as started by the agent.
"""

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

# Python has no name for it: Linux 6.5 and newer
_SO_PEERPIDFD = 77
# Deeper than any shell that somebody sits at
_MAX_PARENTS = 64
_PROC = Path("/proc")
_SERVICE = ".service"


def is_own(connection: socket.socket, pid: int) -> bool:
    """Return whether the process that has connected is one of the agent's."""
    with _held(connection) as handle:
        ours = _is_ours(pid, _PROC)
        # Gone meanwhile: its number may be another's by now, who would be taken for it
        return ours or (handle is not None and _has_ended(handle))


def _is_ours(pid: int, proc: Path) -> bool:
    try:
        return (
            (pid != os.getpid() and os.getpid() in _parents(pid, proc))
            or (proc / str(pid) / "ns/user").readlink() != (proc / "self/ns/user").readlink()
            or (pid != os.getpid() and _is_in_our_service(pid, proc))
        )
    except (OSError, ValueError, IndexError):
        return True


def _parents(pid: int, proc: Path) -> Iterator[int]:
    for _ in range(_MAX_PARENTS):
        yield pid
        # The name before it may hold spaces and brackets
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        pid = int(fields[1])
        if pid <= 1:
            return
    raise ValueError("it has too many parents")


def _is_in_our_service(pid: int, proc: Path) -> bool:
    own, other = _group(proc / "self"), _group(proc / str(pid))
    if not own.endswith(_SERVICE):
        # A session or a terminal, which the owner's own chat may share with us
        return False
    return other == own or other.startswith(f"{own}/")


def _group(process: Path) -> str:
    return (process / "cgroup").read_text().strip().rpartition(":")[2]


@contextlib.contextmanager
def _held(connection: socket.socket) -> Iterator[int | None]:
    """A handle of the process, so that its number stays its own while it is looked at."""
    try:
        handle = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError:
        # An older kernel
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _has_ended(handle: int) -> bool:
    return bool(select.select([handle], [], [], 0)[0])
