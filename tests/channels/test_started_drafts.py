import asyncio
from pathlib import Path

import pytest

from agent.channels.started_drafts import MAX_KEPT, StartedDrafts

KEY = ("chat", None, "message 1")


async def test_what_was_begun_is_found_by_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "discord" / "begun.json"
    await StartedDrafts(path).note(KEY, "draft 1")
    again = StartedDrafts(path)
    assert await again.left(KEY) == "draft 1"
    assert await again.left(("chat", "thread", "message 1")) is None


async def test_what_is_whole_is_not_taken_for_a_draft_in_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "begun.json"
    await StartedDrafts(path).note(KEY, "draft 1")
    again = StartedDrafts(path)
    assert await again.left(KEY) == "draft 1"
    again.settle(KEY)
    assert await again.left(KEY) is None


async def test_a_cut_between_the_whole_answer_and_its_record_finds_it_too(tmp_path: Path) -> None:
    path = tmp_path / "begun.json"
    first = StartedDrafts(path)
    await first.note(KEY, "draft 1")
    first.settle(KEY)
    assert await StartedDrafts(path).left(KEY) == "draft 1"


async def test_a_message_that_may_stand_is_told_from_none(tmp_path: Path) -> None:
    path = tmp_path / "discord" / "begun.json"
    await StartedDrafts(path).note(KEY, "")
    again = StartedDrafts(path)
    assert await again.left(KEY) == ""
    await again.note(KEY, "draft 1")
    assert await StartedDrafts(path).left(KEY) == "draft 1"


async def test_the_oldest_go(tmp_path: Path) -> None:
    path = tmp_path / "begun.json"
    begun = StartedDrafts(path)
    keys = [("chat", None, str(number)) for number in range(MAX_KEPT + 1)]
    await asyncio.gather(*(begun.note(key, "draft") for key in keys))
    again = StartedDrafts(path)
    assert [await again.left(key) for key in keys] == [None, *["draft"] * MAX_KEPT]


@pytest.mark.parametrize("kept", [b"", b"{", b"[[1]]", b'[["a",null,"b"]]', b"\xff", b"[" * 9000])
async def test_a_damaged_file_is_none(tmp_path: Path, kept: bytes) -> None:
    path = tmp_path / "begun.json"
    path.write_bytes(kept)
    begun = StartedDrafts(path)
    assert await begun.left(KEY) is None
    await begun.note(KEY, "draft 1")
    assert await StartedDrafts(path).left(KEY) == "draft 1"


async def test_without_room_the_agent_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "discord").write_text("a file where the folder would be")
    begun = StartedDrafts(tmp_path / "discord" / "begun.json")
    await begun.note(KEY, "draft 1")
    assert await begun.left(KEY) == "draft 1"
    assert "may stand twice" in caplog.text
