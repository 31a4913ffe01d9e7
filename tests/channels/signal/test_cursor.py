from pathlib import Path

import pytest

from agent.channels.signal.cursor import SignalCursor
from tests.fakes.signal_daemon import NUMBER


async def test_it_goes_on_after_the_last_event_of_the_same_account(tmp_path: Path) -> None:
    path = tmp_path / "signal" / "position.json"
    before = SignalCursor(path)
    await before.load(NUMBER)
    assert before.after == ""
    await before.advance("17")
    again, other = SignalCursor(path), SignalCursor(path)
    await again.load(NUMBER)
    await other.load("+4930123456")
    assert (again.after, other.after) == ("17", "")


async def test_a_daemon_that_numbers_nothing_leaves_no_file(tmp_path: Path) -> None:
    position = SignalCursor(tmp_path / "position.json")
    await position.load(NUMBER)
    await position.advance("")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - nothing else waits


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"account":1}', b"[" * 4000, b"\xff"])
async def test_a_file_that_is_none_of_ours_begins_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "position.json"
    path.write_bytes(content)
    position = SignalCursor(path)
    await position.load(NUMBER)
    assert position.after == ""


async def test_a_folder_that_cannot_be_written_is_only_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "signal").touch()
    position = SignalCursor(tmp_path / "signal" / "position.json")
    await position.load(NUMBER)
    await position.advance("3")
    assert position.after == "3"
    assert "cursor not saved" in caplog.text
