import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.messages import Provenance
from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import ReadingStore
from agent.tools.base import ToolContext
from agent.tools.readings import ReadingDesk
from agent.tools.readings_draw import USAGE, ReadingArtist, ReadingsDrawTool, arguments_of, plotted
from tests.fakes.clock import SteppedClock

CONTEXT = ToolContext("c", "owner", Provenance.OWNER)
NOW = datetime(2026, 5, 2, 15, 0, tzinfo=UTC)
PNG = b"\x89PNG"


@pytest.fixture
async def artist(tmp_path: Path) -> AsyncIterator[ReadingArtist]:
    store = ReadingStore(tmp_path / "state", Retention(), "boot")
    await store.open()
    room = await store.series(SeriesKind("climate.temperature", "°C"), 60)
    begin_s = NOW.timestamp() - 86_400
    store.place(round(begin_s * 1000), is_sure=True)
    for minute in range(1440):
        store.add(room, minute * 60.0, 20 + minute / 720)
    desk = ReadingDesk(store, SteppedClock(NOW.timestamp()), dict, UTC)
    (tmp_path / "workspace").mkdir()
    yield ReadingArtist(desk, tmp_path / "workspace", lambda _name: [21.0])
    await store.aclose()


async def test_a_reading_is_drawn_into_the_workspace(artist: ReadingArtist, tmp_path: Path) -> None:
    tool = ReadingsDrawTool(artist)
    result = await tool.execute(tool.parse('{"reading": "temperature"}'), CONTEXT)
    told = json.loads(result.text)
    picture = tmp_path / "workspace" / told["path"]
    assert picture.read_bytes().startswith(PNG)
    assert told["shown_by"] == f"[IMAGE:{told['path']}]"
    assert (told["lowest"]["value"], told["highest"]["value"]) == (20, 22.0)


async def test_plot_answers_with_a_picture_or_with_blocks(artist: ReadingArtist) -> None:
    told = await plotted(artist, "temperature 24h", takes_files=True)
    assert told.startswith("[IMAGE:pictures/reading-climate-temperature-")
    line = await plotted(artist, "temperature 24h", takes_files=False)
    assert line.splitlines()[0] == "climate.temperature: 20 to 21.9986 °C"
    assert line.splitlines()[1].startswith("▁")
    assert line.splitlines()[1].endswith("█")


async def test_plot_says_what_is_wrong(artist: ReadingArtist) -> None:
    assert await plotted(artist, "", takes_files=True) == USAGE
    assert "climate.temperature" in await plotted(artist, "garage 24h", takes_files=True)


@pytest.mark.parametrize(
    ("words", "reading", "hours", "period"),
    [
        ("temperature 24h", "temperature", 24, None),
        ("living room 30min", "living room", 0.5, None),
        ("tank 7d dark", "tank", 168, None),
        ("tank week", "tank", None, "week"),
        ("tank", "tank", None, None),
    ],
)
def test_the_words_of_plot(
    words: str, reading: str, hours: float | None, period: str | None
) -> None:
    found = arguments_of(words)
    assert (found.reading, found.hours, found.period) == (reading, hours, period)
    assert found.dark == words.endswith("dark")


@pytest.mark.parametrize("words", ["", "24h", "tank 0h", "dark"])
def test_plot_needs_a_reading_and_a_time(words: str) -> None:
    with pytest.raises(BadArguments):
        arguments_of(words)
