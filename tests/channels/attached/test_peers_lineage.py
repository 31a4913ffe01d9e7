"""A process that the agent has started is nobody at its socket, though it runs as the agent."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.attached import peers
from agent.channels.attached.peers import SocketPeer, peer_of, refusal, visitor

# Connects, is asked about, and ends when it is told to
CALLS = """
import os, socket, sys
if "orphan" in sys.argv and os.fork():
    sys.stdin.read()
    sys.exit()
near = socket.socket(socket.AF_UNIX)
near.connect(sys.argv[1])
near.recv(1)
"""


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "chat.sock"))
        made.listen()
        made.settimeout(10)
        yield made


@pytest.mark.parametrize("way", ["plain", "orphan"])
def test_what_the_agent_has_started_is_nobody(
    listening: socket.socket, tmp_path: Path, way: str
) -> None:
    caller = [sys.executable, "-c", CALLS, str(tmp_path / "chat.sock"), way]
    with subprocess.Popen(caller, stdin=subprocess.PIPE) as child:
        connection, _ = listening.accept()
        with connection:
            peer = peer_of(connection)
            assert (peer.uid, peer.is_own) == (os.geteuid(), True)
            # Also where the agent is root, and in its group
            for own_uid in (os.geteuid(), 1):
                assert visitor(peer, own_uid, next(iter(peer.gids))) is None
            assert "nobody" in refusal(peer)
        assert child.stdin is not None
        child.stdin.close()


def test_who_talks_from_the_agent_itself_is_let_in() -> None:
    near, far = socket.socketpair()
    with near, far:
        assert not peer_of(near).is_own
    assert visitor(SocketPeer(1000, frozenset()), 1000, None) is not None


def process(proc: Path, pid: str, parent: int, group: str, space: str = "user:[1]") -> None:
    folder = proc / pid
    (folder / "ns").mkdir(parents=True)
    (folder / "ns" / "user").symlink_to(space)
    (folder / "stat").write_text(f"{pid} (a ) b) S {parent} 1 1")
    (folder / "cgroup").write_text(f"0::{group}\n")


OURS = -1


@pytest.mark.parametrize(
    ("parent", "group", "space", "own"),
    [
        (1, "/user.slice/session-1.scope", "user:[1]", False),
        # Started by this process, whose number every run has its own of
        (OURS, "/user.slice/session-1.scope", "user:[1]", True),
        # Left behind by its parent, and still in the control group of the service
        (1, "/system.slice/barnacle.service", "user:[1]", True),
        (1, "/system.slice/barnacle.service/inner", "user:[1]", True),
        (1, "/system.slice/barnacle.service2", "user:[1]", False),
        # In a user namespace of its own, as a sandbox makes it
        (1, "/user.slice/session-1.scope", "user:[2]", True),
        # Nobody knows who that is
        (77, "/user.slice/session-1.scope", "user:[1]", True),
    ],
)
def test_it_is_known_by_parents_namespace_and_service(
    tmp_path: Path, parent: int, group: str, space: str, *, own: bool
) -> None:
    process(tmp_path, "self", 1, "/system.slice/barnacle.service")
    process(tmp_path, "5", os.getpid() if parent == OURS else parent, group, space)
    assert peers._is_ours(5, tmp_path) is own


def test_in_a_terminal_the_chat_beside_the_agent_is_the_owners(tmp_path: Path) -> None:
    process(tmp_path, "self", 1, "/user.slice/session-1.scope")
    process(tmp_path, "5", 1, "/user.slice/session-1.scope")
    assert not peers._is_ours(5, tmp_path)


def test_a_chain_without_an_end_is_not_let_in(tmp_path: Path) -> None:
    process(tmp_path, "self", 1, "/x.service")
    process(tmp_path, "5", 5, "/user.slice")
    assert peers._is_ours(5, tmp_path)


def test_an_older_kernel_goes_by_the_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_SO_PEERPIDFD", 9999)
    near, far = socket.socketpair()
    with near, far:
        assert not peers.is_own(near, os.getpid())
