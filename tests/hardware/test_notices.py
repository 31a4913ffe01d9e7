import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.hardware.notices import Noticer, sentence
from agent.messages import Attachment
from agent.readings.baseline import QUARTER_MS
from agent.readings.judge import Notice, SensorFault
from agent.readings.packing import Retention
from agent.readings.series import Series, SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.tools.readings import ReadingDesk
from agent.tools.readings_draw import ReadingArtist
from tests.fakes.clock import SteppedClock
from tests.fakes.owner import ListeningOwner
from tests.waits import wait_until

ROOM = SeriesKind("room.temperature", "°C")
LEARNED_DAYS = 16
QUARTERS = 96


class Recorded:
    """A store with two weeks of a usual room, and a clock at their end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SteppedClock()
        self.store = ReadingStore(folder, Retention(), "boot")
        begin_ms = round(self.clock.wall_s() * 1000) // DAY_MS * DAY_MS
        self.begin_ms = begin_ms - LEARNED_DAYS * DAY_MS
        self.quarter = 0

    async def open(self) -> None:
        await self.store.open()
        self.series = await self.store.series(ROOM, 60)
        self.store.place(self.begin_ms, is_sure=True)
        for at in range(LEARNED_DAYS * QUARTERS):
            await self.add(20 + at % 7 / 10)

    async def add(self, value: float) -> None:
        """Record a quarter of an hour."""
        begin_s = self.quarter * QUARTER_MS / 1000
        for minute in (0, 5, 10):
            self.store.add(self.series, begin_s + minute * 60, value + minute / 100)
        self.quarter += 1
        if self.quarter % QUARTERS == 0:
            await self.store.commit(self.now_ms)

    @property
    def now_ms(self) -> int:
        return self.begin_ms + self.quarter * QUARTER_MS

    def noticer(self, clock: SteppedClock | None = None) -> Noticer:
        desk = ReadingDesk(self.store, AtTime(self), dict)
        artist = ReadingArtist(desk, self.folder, lambda _name: ())
        return Noticer(artist, 1.0, self.folder / "notices.json", clock or AtTime(self))


class AtTime(SteppedClock):
    """A clock that says when the newest quarter is over."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__()
        self._recorded = recorded

    def wall_s(self) -> float:
        return self._recorded.now_ms / 1000 + 20


@pytest.fixture
async def recorded(tmp_path: Path) -> Recorded:
    made = Recorded(tmp_path)
    await made.open()
    return made


async def test_nothing_is_said_of_a_usual_quarter(recorded: Recorded) -> None:
    assert await recorded.noticer().look() == []


async def test_what_is_unusual_is_found_once(recorded: Recorded) -> None:
    noticer = recorded.noticer()
    assert await noticer.look() == []
    await recorded.add(35.0)
    (notice,) = await noticer.look()
    assert (notice.series.name, round(notice.value)) == (ROOM.name, 35)
    await recorded.add(35.0)
    assert await noticer.look() == []


async def test_a_restart_does_not_tell_it_again(recorded: Recorded) -> None:
    await recorded.add(35.0)
    assert len(await recorded.noticer().look()) == 1
    await recorded.add(35.0)
    assert await recorded.noticer().look() == []


async def test_of_a_gap_nothing_is_said(recorded: Recorded) -> None:
    await recorded.add(35.0)
    recorded.quarter += 2
    assert await recorded.noticer().look() == []


async def test_the_owner_is_told_with_a_drawing(recorded: Recorded) -> None:
    pytest.importorskip("PIL")
    owner, noticer = ListeningOwner(), recorded.noticer()
    await recorded.add(35.0)
    for notice in await noticer.look():
        await noticer.tell(owner, notice)
    ((files, line),) = owner.shown
    assert owner.told[0].startswith(
        "room.temperature is 35.05 °C, unusual for this hour: usually 20"
    )
    (picture,) = recorded.folder.rglob("*.png")
    assert files == (str(picture),)
    assert line.strip("▁")


async def test_a_reading_that_cannot_be_drawn_is_told_in_words(
    recorded: Recorded,
) -> None:
    owner, noticer = ListeningOwner(), recorded.noticer()
    notice = Notice(Series(9, SeriesKind("gone"), 60), 0, 1.0, SensorFault.STILL)
    await noticer.tell(owner, notice)
    assert owner.shown == []
    assert owner.told[0].startswith("gone seems to be broken, it says the same all the time (1)")


async def test_it_looks_again_and_again(recorded: Recorded) -> None:
    await recorded.add(35.0)
    owner = ListeningOwner()
    running = asyncio.create_task(recorded.noticer().run(owner))
    await wait_until(lambda: bool(owner.told))
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert len(owner.told) == 1


def test_a_broken_sensor_is_called_broken() -> None:
    notice = Notice(Series(1, ROOM, 60), 0, -127.0, SensorFault.IMPOSSIBLE)
    assert sentence(notice) == (
        "room.temperature seems to be broken, it says what cannot be (-127 °C): "
        "look at the sensor and its wires."
    )


async def test_what_could_not_be_told_is_told_with_the_next_quarter(recorded: Recorded) -> None:
    class FullOwner(ListeningOwner):
        async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
            if len(refused) < 2:
                refused.append(text)
                raise StorageFull("no room")
            await super().show(text, files, line)

    refused: list[str] = []
    owner, clock = FullOwner(), AtTime(recorded)
    noticer = recorded.noticer(clock)
    await recorded.add(35.0)
    running = asyncio.create_task(noticer.run(owner))
    await wait_until(lambda: running.done() or owner.told or len(clock.slept_s) > 9)
    running.cancel()
    await asyncio.wait([running])
    assert len(refused) == 2
    assert [text.partition(" is ")[0] for text in owner.told] == ["room.temperature"]
