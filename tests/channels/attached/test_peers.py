import os
import socket

import pytest

from agent.channels.attached.peers import SocketPeer, peer_of, refusal, visitor
from agent.messages import Provenance

OWN_UID, GROUP = 990, 991


@pytest.mark.parametrize(
    ("uid", "gids", "person", "provenance"),
    [
        (0, {0}, "owner", Provenance.OWNER),
        (OWN_UID, {OWN_UID}, "owner", Provenance.OWNER),
        (1000, {1000, GROUP}, "uid-1000", Provenance.USER),
        (0, {GROUP}, "owner", Provenance.OWNER),
    ],
)
def test_this_machine_says_who_somebody_is(
    uid: int, gids: set[int], person: str, provenance: Provenance
) -> None:
    who = visitor(SocketPeer(uid, frozenset(gids)), OWN_UID, GROUP)
    assert who is not None
    assert (who.person, who.provenance) == (person, provenance)


@pytest.mark.parametrize(
    ("uid", "gids", "own_uid", "group"),
    [
        (1000, {1000}, OWN_UID, GROUP),
        (1000, {0}, OWN_UID, GROUP),
        (1000, {OWN_UID}, OWN_UID, GROUP),
        # No such group on this machine
        (1000, {1000}, OWN_UID, None),
        # Somebody from outside a container has the number of nobody, whoever that is here
        (65534, {65534, GROUP}, 65534, GROUP),
    ],
)
def test_nobody_else_is_let_in(uid: int, gids: set[int], own_uid: int, group: int | None) -> None:
    peer = SocketPeer(uid, frozenset(gids))
    assert visitor(peer, own_uid, group) is None
    assert f"user {uid} may not" in refusal(peer)


def test_people_of_the_group_have_a_place_each() -> None:
    places = [visitor(SocketPeer(uid, frozenset({GROUP})), OWN_UID, GROUP) for uid in (1000, 1001)]
    assert [who and who.target for who in places] == ["uid-1000", "uid-1001"]


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far:
        peer = peer_of(near)
    assert peer.uid == os.geteuid()
    assert peer.gids >= {os.getegid(), *os.getgroups()}
