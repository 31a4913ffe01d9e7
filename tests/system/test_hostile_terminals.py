"""Whoever opens the socket of a running agent with no good in mind: it goes on for all others."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.attached.frames import MAX_SAID_FRAME_BYTES
from agent.channels.attached.session import MAX_TERMINALS_PER_USER
from tests.fakes.chat_process import ChatProcess
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.somebody import somebody
from tests.waits import wait_until_sync

# More than the agent needs to answer anything here
PATIENCE_S = 15.0
# Of the agent, by whatever anybody sends
MOST_GROWTH_KIB = 12 * 1024
HELLO = b'{"type":"hello","version":1}\n'
STRANGER_UID = 54321


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agent")


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    """One for all: what was done to it before must not show."""
    with DaemonProcess(folder) as daemon:
        yield daemon
        assert "Traceback" not in daemon.log()
        assert daemon.stop() == 0


def lines_from(connection: socket.socket) -> Iterator[dict[str, object]]:
    """What comes until the agent hangs up."""
    connection.settimeout(PATIENCE_S)
    with contextlib.suppress(ConnectionError), connection.makefile("rb") as lines:
        for line in lines:
            yield json.loads(line)


def said_to(daemon: DaemonProcess, data: bytes) -> list[dict[str, object]]:
    """What the agent says to that, until it hangs up."""
    with daemon.connect() as connection:
        connection.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return list(lines_from(connection))


def serves_others(folder: Path) -> bool:
    with ChatProcess(folder, "") as chat:
        said = chat.say("/help")
        # Killed, it might not have said that it showed the answer, which then comes again
        return "/help" in said and chat.leave()[0] == 0


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x00\xff\xfe rubbish \n",
        b"[" * 100_000 + b"\n",
        b'{"type":"hello","version":"1"}\n',
        b'{"type":"say","id":"1","text":"no hello"}\n',
        HELLO + HELLO,
        HELLO + b'{"type":"say","id":"../1","text":"x"}\n',
        HELLO + b'{"type":"say","id":"1","text":"x","provenance":5}\n'[:-1] + b"}\n",
        HELLO + b'{"type":"welcome","version":1}\n',
        HELLO + b'{"type":"shown","number":1e400}\n',
        HELLO + b"x" * (MAX_SAID_FRAME_BYTES + 1),
        b"x" * (MAX_SAID_FRAME_BYTES + 1),
    ],
)
def test_nonsense_ends_its_own_connection_and_no_other(
    daemon: DaemonProcess, folder: Path, data: bytes
) -> None:
    said = said_to(daemon, data)
    assert {line["type"] for line in said} <= {"welcome", "bye"}
    assert serves_others(folder)


def test_another_version_is_told_so(daemon: DaemonProcess) -> None:
    [said] = said_to(daemon, b'{"type":"hello","version":99,"more":[]}\n')
    assert "version 1" in str(said["text"])
    assert "you speak 99" in str(said["text"])


def test_endless_lines_take_no_memory(daemon: DaemonProcess, folder: Path) -> None:
    assert serves_others(folder)
    before_kib = daemon.rss_kib
    for _ in range(20):
        said_to(daemon, HELLO + b"x" * (4 * MAX_SAID_FRAME_BYTES))
    assert daemon.rss_kib - before_kib < MOST_GROWTH_KIB
    assert serves_others(folder)


def test_of_200_terminals_a_few_are_attached_and_the_others_told(
    daemon: DaemonProcess, folder: Path
) -> None:
    before_kib = daemon.rss_kib
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(200):
            connection = stack.enter_context(daemon.connect())
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(HELLO)
            connections.append(connection)
        first = [next(lines_from(connection))["type"] for connection in connections]
        assert first.count("welcome") == MAX_TERMINALS_PER_USER
        assert first.count("bye") == 200 - MAX_TERMINALS_PER_USER
    assert daemon.rss_kib - before_kib < MOST_GROWTH_KIB
    assert serves_others(folder)


def test_whoever_never_says_hello_is_hung_up_on(daemon: DaemonProcess, folder: Path) -> None:
    begun_s = time.monotonic()
    assert said_to(daemon, b"") == []
    assert time.monotonic() - begun_s < PATIENCE_S
    assert serves_others(folder)


def test_whoever_reads_nothing_holds_up_nobody(daemon: DaemonProcess, folder: Path) -> None:
    before_kib = daemon.rss_kib
    with daemon.connect() as deaf:
        deaf.sendall(HELLO)
        for number in range(16):
            said = {"type": "say", "id": f"deaf-{number}", "text": "/help"}
            deaf.sendall(json.dumps(said).encode() + b"\n")
        begun_s = time.monotonic()
        assert serves_others(folder)
        assert time.monotonic() - begun_s < PATIENCE_S
    assert daemon.rss_kib - before_kib < MOST_GROWTH_KIB


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_stranger_is_turned_away_before_a_word_is_read(tmp_path: Path) -> None:
    # Where others can enter
    runtime = Path("/tmp") / f"barnacle-test-{os.getpid()}"
    runtime.mkdir(mode=0o755)
    try:
        with DaemonProcess(tmp_path, RUNTIME_DIRECTORY=str(runtime)) as daemon:
            assert daemon.socket.stat().st_mode & 0o007 == 0
            # It listens before it says where
            link = tmp_path / "state" / "chat.sock"
            wait_until_sync(lambda: link.resolve() == daemon.socket)
            assert "Permission" in as_somebody(daemon)
            # Whoever made a mistake with the file still meets the kernel's word
            daemon.socket.chmod(0o666)
            told = as_somebody(daemon)
            assert f"user {STRANGER_UID} may not talk to this agent" in told
            assert "usermod -aG barnacle" in told
            assert f"user refused (uid={STRANGER_UID})" in daemon.log()
            assert serves_others(tmp_path)
    finally:
        for left in runtime.iterdir():
            left.unlink()
        runtime.rmdir()


def as_somebody(daemon: DaemonProcess) -> str:
    """What another user of the machine hears when they attach."""
    try:
        with somebody(STRANGER_UID):
            connection = daemon.connect()
    except OSError as err:
        return str(err)
    with connection:
        # It may be turned away before its first word has left it
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(HELLO + b'{"type":"say","id":"1","text":"/status"}\n')
        return str(list(lines_from(connection)))
