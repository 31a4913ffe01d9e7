import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.readings.batch import Batch
from agent.readings.packing import Retention
from agent.readings.series import Series, SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.readings.summary import Gap, Moment, gaps, summarize
from tests.waits import wait_until

# Midnight, UTC
BEGIN_MS = 20_880 * DAY_MS
ROOM = SeriesKind("room.temperature", "°C")
PUMP = SeriesKind("pump", is_switch=True)
MINUTES = 1440
SLOTS = 40


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ReadingStore]:
    made = ReadingStore(tmp_path, Retention(), "boot")
    await made.open()
    yield made
    await made.aclose()


@pytest.fixture
async def packing_store(tmp_path: Path) -> AsyncIterator[ReadingStore]:
    """A store that packs at each third commit."""
    made = ReadingStore(tmp_path, Retention(), "boot", slots=4)
    await made.open()
    yield made
    await made.aclose()


async def chunks(store: ReadingStore, level: int = 2) -> int:
    return await store.database.look(
        lambda db: db.execute("SELECT count(*) FROM chunk WHERE level = ?", (level,)).fetchone()[0]
    )


async def record_days(store: ReadingStore, series: Series, days: int, first: int = 0) -> None:
    """A value a minute, which is the number of the minute of its day, committed every hour."""
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(first * MINUTES, (first + days) * MINUTES):
        store.add(series, minute * 60.0, minute % MINUTES / 10)
        if minute % 60 == 59:
            await store.commit(BEGIN_MS + minute * 60_000)


async def test_what_was_recorded_each_minute_stays_known_at_a_shorter_cadence(
    packing_store: ReadingStore,
) -> None:
    pump, room = await packing_store.series(PUMP, 60), await packing_store.series(ROOM, 60)
    packing_store.place(BEGIN_MS, is_sure=True)
    for minute in range(240):
        packing_store.add(pump, minute * 60.0, float(minute < 120))
        packing_store.add(room, minute * 60.0, minute / 10)
        # The last hour is not packed
        if minute % 30 == 29:
            await packing_store.commit(BEGIN_MS + minute * 60_000)
    pump, room = await packing_store.series(PUMP, 10), await packing_store.series(ROOM, 10)
    end_ms = BEGIN_MS + 240 * 60_000
    on = summarize(await packing_store.rows(pump, BEGIN_MS, end_ms))
    rows = await packing_store.rows(room, BEGIN_MS, end_ms)
    assert on is not None
    assert on.on_s == 7200.0
    # Of the newest value it is not known that it was the last of its cadence
    assert gaps(rows, BEGIN_MS, end_ms, room.cadence_s) == [Gap(end_ms - 60_000, end_ms)]


async def test_values_are_there_before_and_after_they_are_packed(store: ReadingStore) -> None:
    series = await store.series(ROOM, 60)
    await record_days(store, series, 2)
    for day in range(2):
        rows = await store.rows(series, BEGIN_MS + day * DAY_MS, BEGIN_MS + (day + 1) * DAY_MS)
        assert rows.means == [minute / 10 for minute in range(MINUTES)]


async def test_a_restart_finds_each_value_once(tmp_path: Path) -> None:
    for life in range(3):
        store = ReadingStore(tmp_path, Retention(), f"boot{life}")
        await store.open()
        await record_days(store, await store.series(ROOM, 60), 1, first=life)
        await store.aclose()
    store = ReadingStore(tmp_path, Retention(), "last")
    await store.open()
    rows = await store.rows(await store.series(ROOM, 60), BEGIN_MS, BEGIN_MS + 3 * DAY_MS)
    assert rows.at_ms == [BEGIN_MS + minute * 60_000 for minute in range(3 * MINUTES)]
    await store.aclose()


async def test_a_year_is_told_by_quarters_of_an_hour(store: ReadingStore) -> None:
    series = await store.series(ROOM, 60)
    await record_days(store, series, 5)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + 5 * DAY_MS)
    assert len(rows) == 5 * 96
    found = summarize(rows)
    assert found is not None
    assert (found.lowest.value, found.highest.value) == (0.0, 143.9)
    assert (found.count, round(found.mean, 2)) == (5 * MINUTES, 71.95)


async def test_few_values_wait_for_more_than_a_day(store: ReadingStore) -> None:
    series = await store.series(ROOM, 60)
    await record_days(store, series, 3)
    assert await chunks(store) == 0
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert rows.means == [minute / 10 for minute in range(MINUTES)]


async def test_many_values_are_packed_when_a_day_is_over(store: ReadingStore) -> None:
    series = await store.series(ROOM, 1)
    store.place(BEGIN_MS, is_sure=True)
    for second in range(21_600):
        store.add(series, float(second), float(second % 7))
        if second % 3600 == 3599:
            await store.commit(BEGIN_MS)
    assert await chunks(store) == 0
    await store.commit(BEGIN_MS + DAY_MS)
    assert await chunks(store) > 0


async def test_old_values_go_and_their_quarters_stay(tmp_path: Path) -> None:
    wanted = Retention(raw_days=1, minute_days=2, quarter_days=30)
    store = ReadingStore(tmp_path, wanted, "boot", slots=4)
    await store.open()
    series = await store.series(ROOM, 60)
    await record_days(store, series, 6)
    old = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    new = await store.rows(series, BEGIN_MS + 5 * DAY_MS, BEGIN_MS + 6 * DAY_MS)
    assert (len(old), len(new)) == (96, MINUTES)
    await store.aclose()


async def test_quarters_of_a_month_are_put_together(packing_store: ReadingStore) -> None:
    store = packing_store
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for day in range(70):
        store.add(series, day * 86_400.0, float(day))
        await store.commit(BEGIN_MS + day * DAY_MS)
    assert 0 < await chunks(store) < 70
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + 70 * DAY_MS)
    assert rows.means == [float(day) for day in range(70)]


async def test_a_dense_series_keeps_minutes_beside_its_values(tmp_path: Path) -> None:
    store = ReadingStore(tmp_path, Retention(raw_days=1), "boot", slots=40)
    await store.open()
    series = await store.series(ROOM, 10)
    store.place(BEGIN_MS, is_sure=True)
    for look in range(4 * 8640):
        store.add(series, look * 10.0, float(look % 6))
        if look % 360 == 359:
            await store.commit(BEGIN_MS + look * 10_000)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert (len(rows), rows.lows[0], rows.highs[0], rows.means[0]) == (MINUTES, 0.0, 5.0, 2.5)
    await store.aclose()


async def test_time_on_survives_packing(packing_store: ReadingStore) -> None:
    store = packing_store
    series = await store.series(PUMP, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(MINUTES + 1):
        # On for ten minutes of each hour
        store.add(series, minute * 60.0, float(minute % 60 < 10))
        if minute % 720 == 0:
            await store.commit(BEGIN_MS + minute * 60_000)
    assert await chunks(store) > 0
    for span_ms in (DAY_MS, 10 * DAY_MS):
        found = summarize(await store.rows(series, BEGIN_MS, BEGIN_MS + span_ms))
        assert found is not None
        # The newest value has lasted for nobody knows how long
        assert found.on_s - 24 * 600 <= 60
        # It was on at the beginning already, for all that is known; another day begins at the end
        assert found.starts in {23, 24}


async def test_the_newest_value_lasts_until_now_and_no_longer_than_a_gap(
    store: ReadingStore,
) -> None:
    series = await store.series(PUMP, 60)
    store.place(BEGIN_MS, is_sure=True)
    store.add(series, 0.0, 1.0)
    for end_s, on_s in ((45, 45), (3600, 150)):
        found = summarize(await store.rows(series, BEGIN_MS, BEGIN_MS + end_s * 1000))
        assert found is not None
        assert found.on_s == on_s


async def test_the_newest_values_are_told_until_they_are_no_news(store: ReadingStore) -> None:
    room, pump = await store.series(ROOM, 60), await store.series(PUMP, 60)
    store.place(BEGIN_MS, is_sure=True)
    store.add(pump, 0.0, 1.0)
    for commit in range(4):
        store.add(room, commit * 60.0, float(commit))
        assert store.latest()[room] == commit
        await store.commit(BEGIN_MS)
    assert store.latest() == {room: 3.0}


async def test_a_gap_is_known_as_a_gap(store: ReadingStore) -> None:
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in (*range(60), *range(120, 180)):
        store.add(series, minute * 60.0, 1.0)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + 3 * 3_600_000)
    (gap,) = gaps(rows, BEGIN_MS, BEGIN_MS + 3 * 3_600_000, 60)
    assert (gap.begin_ms, gap.end_ms) == (BEGIN_MS + 59 * 60_000, BEGIN_MS + 120 * 60_000)


@pytest.mark.parametrize(("days_later", "pace_s"), [(2, 60), (8, 900)])
async def test_what_is_kept_coarser_later_has_no_gaps_for_that(
    tmp_path: Path, days_later: int, pace_s: int
) -> None:
    store = ReadingStore(tmp_path, Retention(raw_days=1, minute_days=7), "boot", slots=4)
    await store.open()
    series = await store.series(ROOM, 10)
    store.place(BEGIN_MS, is_sure=True)
    for second in range(0, 86_400, 10):
        if not 36_000 <= second < 43_200:
            store.add(series, float(second), float(second % 7))
        if second % 7200 == 0:
            await store.commit(BEGIN_MS + second * 1000)
    for hour in range(4):
        later_s = days_later * 86_400 + hour * 3600
        store.add(series, float(later_s), 1.0)
        await store.commit(BEGIN_MS + later_s * 1000)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert rows.at_ms[1] - rows.at_ms[0] == pace_s * 1000
    (gap,) = gaps(rows, BEGIN_MS, BEGIN_MS + DAY_MS, 10)
    assert (gap.begin_ms, gap.end_ms) == (
        BEGIN_MS + 36_000_000 - pace_s * 1000,
        BEGIN_MS + 43_200_000,
    )
    await store.aclose()


async def test_nothing_is_packed_before_the_time_is_known(store: ReadingStore) -> None:
    series = await store.series(ROOM, 60)
    store.place(0, is_sure=False)
    store.add(series, 60.0, 5.0)
    await store.commit(60_000)
    assert len(await store.rows(series, 0, BEGIN_MS * 2)) == 0
    store.place(BEGIN_MS, is_sure=True)
    store.add(series, 120.0, 6.0)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert (rows.at_ms, rows.means) == ([BEGIN_MS + 60_000, BEGIN_MS + 120_000], [5.0, 6.0])


async def test_a_jump_of_a_clock_that_was_not_sure_moves_what_it_recorded(
    store: ReadingStore,
) -> None:
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS - DAY_MS, is_sure=False)
    store.add(series, 60.0, 5.0)
    await store.commit(BEGIN_MS - DAY_MS)
    store.place(BEGIN_MS, is_sure=True)
    store.add(series, 120.0, 6.0)
    await store.commit(BEGIN_MS)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert rows.means == [5.0, 6.0]


async def test_a_full_disk_is_said_and_forgets_nothing_that_was_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = ReadingStore(tmp_path / "state", Retention(), "boot", SLOTS)
    await store.open()
    series = await store.series(ROOM, 60)
    ring = tmp_path / "state" / "readings.ring"
    # Nothing can be written over a folder
    ring.mkdir()
    store.place(BEGIN_MS, is_sure=True)
    store.add(series, 60.0, 5.0)
    await store.commit(BEGIN_MS)
    assert "not recorded" in store.trouble
    assert "recording stopped" in caplog.text
    ring.rmdir()
    store.add(series, 120.0, 6.0)
    await store.commit(BEGIN_MS)
    assert store.trouble == ""
    await store.aclose()
    again = ReadingStore(tmp_path / "state", Retention(), "boot", SLOTS)
    await again.open()
    rows = await again.rows(await again.series(ROOM, 60), BEGIN_MS, BEGIN_MS + DAY_MS)
    assert rows.means == [5.0, 6.0]
    await again.aclose()


async def test_a_ring_that_fills_is_packed_before_its_day_is_over(tmp_path: Path) -> None:
    store = ReadingStore(tmp_path, Retention(), "boot", SLOTS)
    await store.open()
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(2 * SLOTS):
        store.add(series, minute * 60.0, float(minute))
        await store.commit(BEGIN_MS + minute * 60_000)
    rows = await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert rows.means == [float(minute) for minute in range(2 * SLOTS)]
    await store.aclose()


async def test_a_commit_that_is_cancelled_is_finished_before_the_next(
    store: ReadingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    may_write, under_way, most = threading.Event(), 0, 0
    write = store._ring.write

    def slow(batch: Batch) -> list[Batch]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        assert may_write.wait(30)
        under_way -= 1
        return write(batch)

    monkeypatch.setattr(store._ring, "write", slow)
    store.add(series, 0.0, 1.0)
    first = asyncio.create_task(store.commit(BEGIN_MS))
    await wait_until(lambda: under_way)
    first.cancel()
    await asyncio.wait([first])
    store.add(series, 60.0, 2.0)
    second = asyncio.create_task(store.commit(BEGIN_MS))
    await asyncio.sleep(0)
    may_write.set()
    await second
    assert most == 1
    assert (await store.rows(series, BEGIN_MS, BEGIN_MS + DAY_MS)).means[:2] == [1.0, 2.0]


async def test_the_newest_values_have_their_times_as_soon_as_it_is_known(
    store: ReadingStore,
) -> None:
    room = await store.series(ROOM, 60)
    store.place(0, is_sure=False)
    store.add(room, 60.0, 1.0)
    assert store.newest() == {}
    await store.commit(0)
    store.place(BEGIN_MS, is_sure=True)
    assert store.newest() == {room: Moment(1.0, BEGIN_MS + 60_000)}
    store.add(room, 120.0, 2.0)
    assert store.newest() == {room: Moment(2.0, BEGIN_MS + 120_000)}


async def test_series_that_come_together_are_made_in_one_transaction(store: ReadingStore) -> None:
    begun: list[str] = []
    await store.database.look(lambda db: db.set_trace_callback(begun.append))
    await store.learn({ROOM: 60, PUMP: 60})
    await store.learn({ROOM: 60, PUMP: 60})
    assert begun.count("BEGIN IMMEDIATE") == 1
    assert {one.kind for one in store.every_series()} == {ROOM, PUMP}


@pytest.mark.parametrize("days", [2, 5])
async def test_what_is_switched_on_at_midnight_is_counted_when_it_is_packed_too(
    packing_store: ReadingStore, days: int
) -> None:
    store = packing_store
    series = await store.series(PUMP, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(3 * MINUTES):
        store.add(series, minute * 60.0, float(minute % MINUTES < 5))
        if minute % 60 == 59:
            await store.commit(BEGIN_MS + minute * 60_000)
    for first in (0, 1, 2):
        begin_ms = BEGIN_MS + first * DAY_MS
        rows = await store.rows(series, begin_ms, begin_ms + days * DAY_MS)
        found = summarize(rows)
        assert found is not None
        # Nobody knows what it was before the first value of all
        assert found.starts == (min(days, 3) - 1, 2, 1)[first]
        assert found.on_s == min(days, 3 - first) * 300
