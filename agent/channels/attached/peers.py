"""Peers of a Unix socket, as the kernel reports them, never as they claim."""

import contextlib
import grp
import os
import select
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from agent.channels.terminal import LOCAL, OWNER
from agent.messages import Provenance

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


# People of this group may talk to the agent, without being its owner
GROUP = "barnacle"
_ROOT = 0
# Whom the kernel has no name for here, such as somebody from outside a container
_UNKNOWN_UID = 65534
_CREDENTIALS = struct.Struct("iII")
# Python has no name for it; the number is the same on every machine that we run on
_SO_PEERGROUPS = 59
_GROUP_BYTES = 4
# As much as Python reads of an option: 256 groups
_MAX_OPTION_BYTES = 1024


class SocketPeer(Struct, frozen=True):
    """The process at the other end, as it was when it connected.

    Args:
        is_own: the agent has started it, as it does with servers of tools: it is nobody.
    """

    uid: int
    gids: frozenset[int]
    is_own: bool = False


class TerminalUser(Struct, frozen=True):
    """Somebody who may talk to the agent: who they are to it, and where their answers go."""

    uid: int
    person: str
    target: str
    provenance: Provenance


def peer_of(connection: socket.socket) -> SocketPeer:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    own = uid == os.geteuid() and is_own(connection, pid)
    return SocketPeer(uid, frozenset({gid, *_further_groups(connection)}), own)


def visitor(peer: SocketPeer, own_uid: int, group: int | None) -> TerminalUser | None:
    """Return the visitor if this machine admits them: root, the agent's user, or its group."""
    if peer.is_own:
        return None
    if peer.uid == _ROOT or peer.uid == own_uid != _UNKNOWN_UID:
        return TerminalUser(peer.uid, OWNER, LOCAL, Provenance.OWNER)
    if group is not None and group in peer.gids and peer.uid != _UNKNOWN_UID:
        # By number: a name can be given to somebody else
        who = f"uid-{peer.uid}"
        return TerminalUser(peer.uid, who, who, Provenance.USER)
    return None


def group_id(name: str = GROUP) -> int | None:
    """The number of the group, where this machine has it."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def refusal(peer: SocketPeer) -> str:
    """Return the text for somebody without access."""
    if peer.is_own:
        return "the agent has started you, so you are nobody to it"
    return (
        f"user {peer.uid} may not talk to this agent: its owner can let you in with "
        f"`sudo usermod -aG {GROUP} NAME`, which counts from your next login"
    )


def _further_groups(connection: socket.socket) -> tuple[int, ...]:
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MAX_OPTION_BYTES)
    except OSError:
        # More groups than fit, or an old kernel: then only the first one counts
        return ()
    return struct.unpack(f"{len(raw) // _GROUP_BYTES}I", raw)
