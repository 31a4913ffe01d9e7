import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from agent.errors import LinkLost, StorageFull
from agent.machine.readings import Readings
from agent.readings.packing import Retention
from agent.readings.recorder import Recorder
from agent.readings.series import SeriesKind
from agent.readings.settings import ReadingsSettings
from agent.readings.sources import BoardReadings, ChangeNote, MachineReadings, nothing_to_follow
from agent.readings.store import ReadingStore
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

ROOM = SeriesKind("room", "°C")
PUMP = SeriesKind("pump", is_switch=True)


class Weather:
    """A source with one sensor and one switch."""

    def __init__(self) -> None:
        self.room = 20.0
        self.pump = 0.0
        self.is_away = False
        self.follow: Callable[[ChangeNote], object] = nothing_to_follow

    async def take(self, wanted: Callable[[str], bool]) -> Mapping[SeriesKind, float]:
        if self.is_away:
            raise LinkLost("pulled out")
        every = {ROOM: self.room, PUMP: self.pump}
        return {kind: value for kind, value in every.items() if wanted(kind.name)}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ReadingStore]:
    made = ReadingStore(tmp_path, Retention(), "boot")
    await made.open()
    yield made
    await made.aclose()


def recorder(
    store: ReadingStore, source: object, clock: SteppedClock, settings: ReadingsSettings
) -> Recorder:
    return Recorder(store, [source], settings, clock, lambda: True)  # type: ignore[list-item]  # a fake


async def values(store: ReadingStore, kind: SeriesKind) -> list[float]:
    known = {one.name: one for one in store.every_series()}
    if kind.name not in known:
        return []
    return (await store.rows(known[kind.name], 0, 2**53)).means


@pytest.mark.parametrize(("record", "count"), [("10s", 12), ("1m", 2), ("off", 0)])
async def test_a_sensor_is_recorded_at_its_cadence(
    store: ReadingStore, record: str, count: int
) -> None:
    clock = SteppedClock()
    settings = ReadingsSettings(record="off", channels={"room": record})  # type: ignore[dict-item]  # one of the three
    recording = recorder(store, Weather(), clock, settings)
    for _ in range(12):
        await recording.look()
        clock.advance(10)
    # A span of several days is told in quarters of an hour
    rows = await store.rows(await store.series(ROOM, 60), 1_799_999_000_000, 1_800_000_900_000)
    assert len(rows) == count


async def test_a_switch_is_recorded_when_it_changes(store: ReadingStore) -> None:
    clock, weather = SteppedClock(), Weather()
    recording = recorder(store, weather, clock, ReadingsSettings())
    for pump in (0, 0, 1, 1, 0, 0):
        weather.pump = float(pump)
        await recording.look()
        clock.advance(10)
    series = await store.series(PUMP, 60)
    rows = await store.rows(series, 1_799_999_000_000, 1_800_000_900_000)
    assert rows.means == [0.0, 1.0, 0.0]
    assert rows.at_ms == [1_800_000_000_000, 1_800_000_020_000, 1_800_000_040_000]


async def test_a_board_that_is_away_leaves_a_gap_and_stops_nothing(store: ReadingStore) -> None:
    clock, weather = SteppedClock(), Weather()
    recording = recorder(store, weather, clock, ReadingsSettings(record="10s"))
    for is_away in (False, True, True, False):
        weather.is_away = is_away
        await recording.look()
        clock.advance(10)
    rows = await store.rows(await store.series(ROOM, 10), 1_799_999_000_000, 1_800_000_900_000)
    assert rows.at_ms == [1_800_000_000_000, 1_800_000_030_000]


async def test_a_full_disk_is_one_line_and_a_gap(
    store: ReadingStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object) -> None:
        raise StorageFull("no room")

    clock = SteppedClock()
    recording = recorder(store, Weather(), clock, ReadingsSettings(record="10s"))
    with monkeypatch.context() as patch:
        patch.setattr(store, "series", full)
        for _ in range(20):
            await recording.look()
            clock.advance(10)
    assert caplog.text.count("value not kept (error=no room)") == 1
    await recording.look()
    assert await values(store, ROOM) == [20.0]


async def test_what_was_taken_is_written_within_ten_minutes_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SteppedClock()
    store = ReadingStore(tmp_path, Retention(), "boot")
    committed_s: list[float] = []
    commit = store.commit

    async def noted(wall_ms: int) -> None:
        committed_s.append(clock.monotonic_s())
        await commit(wall_ms)

    monkeypatch.setattr(store, "commit", noted)
    recording = recorder(store, Weather(), clock, ReadingsSettings(record="10s"))
    running = asyncio.create_task(recording.run())
    await wait_until(lambda: len(committed_s) > 1)
    assert committed_s[0] <= 620
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    end_s = clock.monotonic_s()
    await store.aclose()
    again = ReadingStore(tmp_path, Retention(), "boot")
    await again.open()
    rows = await again.rows(
        await again.series(ROOM, 10), 1_800_000_000_000, 1_800_000_000_000 + 172_800_000
    )
    assert end_s * 1000 - (rows.at_ms[-1] - 1_800_000_000_000) <= 20_000
    await again.aclose()


async def test_a_board_gives_its_sensors_and_switches() -> None:
    board = FakeBoard()
    taken = await BoardReadings(board).take(lambda name: name != "led")  # type: ignore[arg-type]  # it tells of no change
    kinds = {kind.name: kind for kind in taken}
    assert {"pump", "relay", "button", "a0", "mcu_temperature"} == set(kinds)
    assert kinds["pump"].is_switch
    assert (kinds["a0"].unit, kinds["a0"].is_switch) == ("V", False)


async def test_a_look_at_which_nothing_is_due_wakes_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine without a thermometer: its temperature is always due
    machine = MachineReadings(Readings(tmp_path, root=tmp_path))
    assert "machine.disk_free" in {kind.name for kind in await machine.take(lambda _name: True)}
    hops: list[object] = []

    async def counted(work: Callable[[], object]) -> object:
        hops.append(work)
        return work()

    monkeypatch.setattr("agent.readings.sources.asyncio.to_thread", counted)
    assert await machine.take(lambda _name: False) == {}
    assert await machine.take(lambda name: name == "machine.temperature") == {}
    assert hops == []
    await machine.take(lambda name: name in {"machine.temperature", "machine.disk_free"})
    assert len(hops) == 1


async def test_a_card_that_cannot_be_read_ends_no_recorder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ring = tmp_path / "readings.ring"
    ring.symlink_to("/proc/self/mem")
    store = ReadingStore(tmp_path, Retention(), "boot")
    recording = recorder(store, Weather(), SteppedClock(), ReadingsSettings(record="10s"))
    running = asyncio.create_task(recording.run())
    await wait_until(lambda: running.done() or "recording not begun" in caplog.text)
    ring.unlink()
    await wait_until(lambda: running.done() or store.latest())
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    await store.aclose()
