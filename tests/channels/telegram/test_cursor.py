import json
from pathlib import Path

from agent.channels.telegram.cursor import SAVED_EVERY_S, TelegramCursor
from tests.fakes.clock import SteppedClock


def saved(path: Path) -> int:
    return int(json.loads(path.read_text())["offset"])


async def test_a_busy_chat_writes_the_file_once_a_minute(tmp_path: Path) -> None:
    clock = SteppedClock()
    path = tmp_path / "position.json"
    cursor = TelegramCursor(path, clock)
    for offset in (5, 6, 7):
        await cursor.advance(offset)
    assert (cursor.offset, saved(path)) == (7, 5)
    clock.advance(SAVED_EVERY_S)
    await cursor.advance(8)
    assert saved(path) == 8


async def test_a_clock_that_was_set_back_holds_no_file_up(tmp_path: Path) -> None:
    clock = SteppedClock()
    cursor = TelegramCursor(tmp_path / "position.json", clock)
    await cursor.advance(5)
    clock.advance(-3600.0)
    await cursor.advance(6)
    assert saved(tmp_path / "position.json") == 6


OLD, NEW = 1234, 5678


async def test_another_bot_asks_for_all_that_it_was_sent(tmp_path: Path) -> None:
    clock = SteppedClock()
    cursor = TelegramCursor(tmp_path / "position.json", clock)
    await cursor.load(OLD)
    await cursor.advance(900)
    again = TelegramCursor(tmp_path / "position.json", clock)
    await again.load(OLD)
    assert (again.offset, again.series) == (900, "")
    await again.load(NEW)
    assert again.offset == 0


async def test_each_bot_keeps_its_series(tmp_path: Path) -> None:
    clock = SteppedClock()
    # From before the bot was kept
    (tmp_path / "position.json").write_text(json.dumps({"offset": 5, "saved_at_s": clock.wall_s()}))
    series = []
    for offset, bot in enumerate((OLD, NEW, NEW, OLD), start=6):
        cursor = TelegramCursor(tmp_path / "position.json", clock)
        await cursor.load(bot)
        await cursor.advance(offset)
        series.append(cursor.series)
    assert series == ["", f"{NEW}:", f"{NEW}:", ""]
