"""Peers of a Unix socket, as the kernel reports them, never as they claim."""

import grp
import os
import socket
import struct
from dataclasses import dataclass

from agent.channels.attached.lineage import is_own
from agent.channels.terminal import LOCAL, OWNER
from agent.messages import Provenance

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


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as it was when it connected.

    Args:
        is_own: the agent has started it, as it does with servers of tools: it is nobody.
    """

    uid: int
    gids: frozenset[int]
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who may talk to the agent: who they are to it, and where their answers go."""

    uid: int
    person: str
    target: str
    provenance: Provenance


def peer_of(connection: socket.socket) -> Peer:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    own = uid == os.geteuid() and is_own(connection, pid)
    return Peer(uid, frozenset({gid, *_further_groups(connection)}), own)


def visitor(peer: Peer, own_uid: int, group: int | None) -> Visitor | None:
    """Return the visitor if this machine admits them: root, the agent's user, or its group."""
    if peer.is_own:
        return None
    if peer.uid == _ROOT or peer.uid == own_uid != _UNKNOWN_UID:
        return Visitor(peer.uid, OWNER, LOCAL, Provenance.OWNER)
    if group is not None and group in peer.gids and peer.uid != _UNKNOWN_UID:
        # By number: a name can be given to somebody else
        who = f"uid-{peer.uid}"
        return Visitor(peer.uid, who, who, Provenance.USER)
    return None


def group_id() -> int | None:
    """The number of the group, where this machine has it."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return None


def refusal(peer: Peer) -> str:
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
