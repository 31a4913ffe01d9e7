import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.system import systemd_journal
from agent.system.systemd_journal import SystemdJournal


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "socket"))
        yield bound


@pytest.fixture
def written(listening: socket.socket) -> Iterator[SystemdJournal]:
    there = SystemdJournal(Path(listening.getsockname()))
    yield there
    there.close()


def test_an_entry_is_one_datagram_of_named_lines(
    written: SystemdJournal, listening: socket.socket
) -> None:
    written.send("MESSAGE=the led is on", "PRIORITY=6", "BARNACLE_TOOL=a=b ü")
    expected = "MESSAGE=the led is on\nPRIORITY=6\nBARNACLE_TOOL=a=b ü\n"
    assert listening.recv(1000).decode() == expected


def test_a_line_feed_begins_no_other_field(
    written: SystemdJournal, listening: socket.socket
) -> None:
    written.send("MESSAGE=a\nPRIORITY=0", "PRIORITY=6")
    expected = b"MESSAGE\n" + (12).to_bytes(8, "little") + b"a\nPRIORITY=0\nPRIORITY=6\n"
    assert listening.recv(1000) == expected


def test_a_journal_that_starts_again_is_found_again(
    written: SystemdJournal, tmp_path: Path
) -> None:
    (tmp_path / "socket").unlink()
    with pytest.raises(FileNotFoundError):
        written.send("MESSAGE=lost")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as again:
        again.bind(str(tmp_path / "socket"))
        written.send("MESSAGE=kept")
        assert again.recv(1000) == b"MESSAGE=kept\n"


def test_a_journal_that_hangs_holds_nobody_up(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd_journal, "SEND_TIMEOUT_S", 0.01)
    there = SystemdJournal(Path(listening.getsockname()))
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as full,
        contextlib.suppress(BlockingIOError),
    ):
        full.settimeout(0)
        # Nobody reads: its queue takes so many and no more
        while full.sendto(b"MESSAGE=waits\n", listening.getsockname()):
            pass
    with pytest.raises(TimeoutError):
        there.send("MESSAGE=lost")
    there.close()


def test_where_there_is_none_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SystemdJournal(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError):
        SystemdJournal(tmp_path / "file")
