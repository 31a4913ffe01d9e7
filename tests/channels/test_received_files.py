import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.channels.received_files import MAX_FILE_BYTES, ReceivedFiles
from agent.errors import ChannelUnavailable
from agent.messages import Attachment
from tests.fakes.telegram_bot import content_of

PIECE = bytes(1024 * 1024)


async def pieces(*content: bytes) -> AsyncGenerator[bytes, None]:
    for piece in content:
        yield piece


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_a_file_is_whole_ours_and_nobody_elses(tmp_path: Path) -> None:
    kept = await ReceivedFiles(tmp_path / "inbox").keep(
        pieces(b"ab", b"c"), "image/PNG; x=1", "../x.sh"
    )
    assert isinstance(kept, Attachment)
    path = Path(kept.path)
    assert (content_of(kept), path.suffix, path.parent) == (b"abc", ".png", tmp_path / "inbox")
    assert (kept.media_type, kept.name, kept.size_bytes) == ("image/png", "../x.sh", 3)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


async def test_a_kind_from_outside_makes_no_program(tmp_path: Path) -> None:
    kept = await ReceivedFiles(tmp_path).keep(pieces(b"#!"), "application/x-sh", "run.sh")
    assert isinstance(kept, Attachment)
    assert kept.path.endswith(".bin")


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("audio/mp3", ".mp3"), ("audio/x-m4a", ".m4a"), ("audio/webm;codecs=opus", ".webm")],
)
async def test_a_recording_ends_as_services_of_speech_want_it(
    kind: str, ending: str, tmp_path: Path
) -> None:
    kept = await ReceivedFiles(tmp_path).keep(pieces(b"x"), kind)
    assert isinstance(kept, Attachment)
    assert Path(kept.path).suffix == ending


async def test_a_file_that_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    many = [PIECE] * (MAX_FILE_BYTES // len(PIECE))
    assert await ReceivedFiles(tmp_path).keep(pieces(*many, b"x"), "image/png") == (
        "it is larger than 20 MB"
    )
    assert names(tmp_path) == []


async def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncGenerator[bytes, None]:
        yield b"half"
        raise ChannelUnavailable("cut")

    with pytest.raises(ChannelUnavailable):
        await ReceivedFiles(tmp_path).keep(broken(), "image/png")
    assert names(tmp_path) == []


async def test_the_oldest_go_where_there_are_too_many(tmp_path: Path) -> None:
    keeping = ReceivedFiles(tmp_path, MAX_FILE_BYTES + 3)
    for age, name in ((30, "old"), (20, "newer"), (10, "newest")):
        path = tmp_path / name
        path.write_bytes(b"xx")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    kept = await keeping.keep(pieces(b"1"), "image/png")
    assert isinstance(kept, Attachment)
    assert names(tmp_path) == sorted(["newest", Path(kept.path).name])


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    said = await ReceivedFiles(tmp_path / "file").keep(pieces(b"1"), "image/png")
    assert isinstance(said, str)
    assert said.startswith("it cannot be kept: ")
