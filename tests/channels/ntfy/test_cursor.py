"""How far a topic was read: kept, and worth nothing for another topic or in a damaged file."""

from pathlib import Path

import pytest

from agent.channels.ntfy.cursor import NtfyCursor
from agent.storage.files import write_atomic


async def since(path: Path, topic: str = "t") -> str:
    position = NtfyCursor(path, topic)
    await position.load()
    return position.since


async def test_it_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "ntfy/position.json"
    assert await since(path) == ""
    await NtfyCursor(path, "t").advance("abc")
    assert await since(path) == "abc"
    assert await since(path, "another") == ""


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"topic": "t"}', b'{"topic": "t", "since": "a&poll=1"}']
)
async def test_what_is_no_place_is_none(tmp_path: Path, content: bytes) -> None:
    write_atomic(tmp_path / "p", content)
    assert await since(tmp_path / "p") == ""


async def test_a_folder_that_takes_no_writing_ends_nothing(tmp_path: Path) -> None:
    write_atomic(tmp_path / "p", b"")
    position = NtfyCursor(tmp_path / "p" / "q", "t")
    await position.advance("abc")
    assert position.since == "abc"
