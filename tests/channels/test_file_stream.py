from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from agent.channels.file_stream import downloaded, uploaded
from agent.channels.received_files import MAX_FILE_BYTES, ReceivedFiles
from agent.errors import ChannelUnavailable, NetworkError
from agent.net.http import HttpAnswer

PIECE = b"x" * 64 * 1024


class CutAnswer:
    """Hands out its pieces, and breaks off after them."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces: Iterator[bytes] = iter(pieces)

    async def read(self) -> bytes:
        if (piece := next(self._pieces, None)) is None:
            raise NetworkError("a.example.org ended the connection")
        return piece


def answer_of(*pieces: bytes) -> HttpAnswer:
    return cast("HttpAnswer", CutAnswer(*pieces))


async def test_each_piece_says_that_the_platform_was_heard() -> None:
    beats: list[int] = []
    stream = downloaded(answer_of(b"ab", b"c", b""), lambda: beats.append(1))
    assert [piece async for piece in stream] == [b"ab", b"c"]
    assert len(beats) == 2


async def test_a_file_that_is_cut_off_is_no_file() -> None:
    stream = downloaded(answer_of(b"ab"))
    assert await anext(stream) == b"ab"
    with pytest.raises(ChannelUnavailable, match=r"a\.example\.org ended"):
        await anext(stream)


async def test_what_is_too_large_is_let_go_of_at_once(tmp_path: Path) -> None:
    stream = downloaded(answer_of(*[PIECE] * (MAX_FILE_BYTES // len(PIECE) + 2)))
    assert "larger than" in str(await ReceivedFiles(tmp_path).keep(stream, "image/png"))
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.parametrize("size_bytes", [0, 1, len(PIECE), len(PIECE) + 1])
async def test_exactly_the_announced_length_is_sent(tmp_path: Path, size_bytes: int) -> None:
    file = tmp_path / "grows"
    file.write_bytes(PIECE * 2)
    assert sum([len(piece) async for piece in uploaded(file, size_bytes)]) == size_bytes


async def test_a_file_that_became_shorter_is_said(tmp_path: Path) -> None:
    file = tmp_path / "shrinks"
    file.write_bytes(b"ab")
    with pytest.raises(OSError, match="became shorter"):
        assert [piece async for piece in uploaded(file, 3)]
