"""What goes into a program and comes out of it: seals, places in files, and words for an end."""

import fcntl
import os
import socket
from io import FileIO
from pathlib import Path

import pytest

from agent.security.sandbox import streams as sandbox_streams
from agent.security.sandbox.base import SandboxOutcome
from agent.security.sandbox.streams import Captured, opened, outcome_of, pipe


def test_what_is_given_is_sealed_on_every_side() -> None:
    with opened(b"given") as handle:
        sealed = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
        assert fcntl.fcntl(handle, fcntl.F_GET_SEALS) == sealed
        assert os.read(handle, 100) == b"given"
        for size_bytes in (0, 100):
            with pytest.raises(PermissionError):
                os.ftruncate(handle, size_bytes)
        with pytest.raises(PermissionError):
            os.write(handle, b"x")
        assert not os.get_inheritable(handle)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_nothing_is_read_as_nothing_and_cannot_be_written() -> None:
    with opened(b"") as handle:
        assert os.read(handle, 1) == b""
        assert fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        assert not os.get_inheritable(handle)


def test_a_file_is_given_from_its_beginning_and_stays_open(tmp_path: Path) -> None:
    (tmp_path / "plan").write_bytes(b"pump")
    with (tmp_path / "plan").open("rb") as file:
        file.read()
        with opened(file) as handle:
            assert os.read(handle, 10) == b"pump"
        assert file.read() == b""


def test_a_socket_is_given_as_it_is() -> None:
    ours, theirs = socket.socketpair()
    with ours, FileIO(theirs.detach(), "r+") as given:
        ours.sendall(b"words")
        with opened(given) as handle:
            assert os.read(handle, 9) == b"words"


def test_no_end_of_a_pipe_is_inherited() -> None:
    for end in pipe():
        with end:
            assert not os.get_inheritable(end.fileno())


@pytest.mark.parametrize(
    ("limit_bytes", "kept", "calls"), [(3, b"abc", 1), (6, b"abcdef", 0), (5, b"abcde", 1)]
)
async def test_no_more_is_kept_than_may_be_and_the_end_is_called_for_once(
    limit_bytes: int, kept: bytes, calls: int
) -> None:
    called: list[str] = []
    stream = Captured(limit_bytes, lambda: called.append("too much"))
    for piece in (b"abc", b"def"):
        stream._keep(piece)
    assert (bytes(stream.data), len(called), stream.truncated) == (kept, calls, bool(calls))
    if calls:
        stream._keep(b"ghi")
        assert len(called) == 1


def test_what_is_kept_is_heard_once_and_nothing_beyond_it() -> None:
    pieces: list[bytes] = []
    stream = Captured(5, lambda: None, heard=pieces.append)
    for piece in (b"abc", b"def", b"ghi"):
        stream._keep(piece)
    assert pieces == [b"abc", b"de"]


@pytest.mark.parametrize("ends", [(True, False), (False, True), (False, False)])
def test_one_stream_that_was_cut_ends_the_program(ends: tuple[bool, bool]) -> None:
    out, err = (Captured(1, lambda: None, bytearray(b"x"), cut) for cut in ends)
    ended = "it printed too much" if any(ends) else ""
    status = None if any(ends) else 7
    assert outcome_of(7, out, err) == SandboxOutcome(status, b"x", b"x", any(ends), ended)


@pytest.mark.parametrize(
    ("late_s", "overrun", "ended"),
    [
        (None, "", ""),
        (None, "it wrote too much", "it wrote too much"),
        (0.5, "", "it took longer than 0.5 s"),
        (2.0, "it wrote too much", "it took longer than 2 s"),
    ],
)
def test_why_it_was_ended_is_said(late_s: float | None, overrun: str, ended: str) -> None:
    out, err = Captured(1, lambda: None), Captured(1, lambda: None)
    found = outcome_of(0, out, err, late_s, overrun)
    assert (found.ended, found.exit) == (ended, None if ended else 0)


def test_an_end_is_waited_for_as_long_as_a_card_may_hang() -> None:
    assert sandbox_streams.END_TIMEOUT_S == 10.0
