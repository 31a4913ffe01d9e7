import random
import weakref
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.readings.columns import Columns
from agent.readings.csv_import import (
    Counted,
    FileSays,
    ImportRules,
    ReadingImport,
    imported,
)
from agent.readings.csv_rows import CsvRow, SeenReading
from agent.readings.csv_spool import CsvSpool
from agent.readings.packing import DAY_MS, Retention
from agent.readings.series import Series, SeriesKind
from agent.readings.store import ReadingStore
from agent.readings.summary import summarize

TODAY = 20_880
BEGIN_MS = TODAY * DAY_MS
NOW_MS = BEGIN_MS + DAY_MS // 2
ROOM = SeriesKind("room.temperature", "°C")
MINUTE_MS = 60_000
MONTH_DAYS = 32
Values = Iterable[tuple[int, float]]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ReadingStore]:
    """A store that packs at each third commit."""
    made = ReadingStore(tmp_path, Retention(), "boot", slots=4)
    await made.open()
    yield made
    await made.aclose()


class Import:
    """One file on its way into a store."""

    def __init__(self, store: ReadingStore, values: Values, *, replaces: bool = False) -> None:
        self._store = store
        self._spool = CsvSpool()
        weakref.finalize(self, self._spool.close)
        for at_ms, value in values:
            self._spool.add(CsvRow(ROOM.name, at_ms, value, value, value))
        rules = ImportRules(Retention(), TODAY, replaces=replaces)
        self.work = ReadingImport(self._spool, rules)

    async def plan(self) -> Counted:
        (found,) = self._spool.readings()
        seen = SeenReading(ROOM.unit)
        says = FileSays(found, seen, self._spool.distance_s(ROOM.name), repeats=False)
        known = {one.name: one for one in self._store.every_series()}.get(ROOM.name)
        reading = imported(says, known, self._store.unfiled(known) if known else None)
        return await self._store.database.look(lambda db: self.work.plan(db, reading))

    async def run(self) -> Counted:
        counted = await self.plan()
        await self._store.database.transact(self.work.run)
        # As any question does: another program has changed the store
        self._store._version = -1
        await self._store.open()
        return counted


def minutes(begin_ms: int, count: int, pace_ms: int = MINUTE_MS) -> list[tuple[int, float]]:
    return [(begin_ms + n * pace_ms, n / 10) for n in range(count)]


async def kept(store: ReadingStore, begin_ms: int, end_ms: int) -> Columns:
    (series,) = store.every_series()
    return await store.rows(series, begin_ms, end_ms)


async def record(store: ReadingStore, values: Values) -> Series:
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for at_ms, value in values:
        store.add(series, (at_ms - BEGIN_MS) / 1000, value)
        await store.commit(NOW_MS)
    return series


async def test_values_of_a_file_are_there_at_their_times(store: ReadingStore) -> None:
    values = minutes(BEGIN_MS - DAY_MS, 1440)
    assert await Import(store, values).run() == Counted(stored=1440)
    rows = await kept(store, BEGIN_MS - DAY_MS, BEGIN_MS)
    assert list(zip(rows.at_ms, rows.means, strict=True)) == values
    quarters = await kept(store, BEGIN_MS - 9 * DAY_MS, BEGIN_MS)
    assert (len(quarters), sum(quarters.counts)) == (96, 1440)


async def test_the_same_file_twice_changes_nothing(store: ReadingStore) -> None:
    values = minutes(BEGIN_MS - 80 * DAY_MS, 80 * 96 + 40, 15 * MINUTE_MS)
    assert (await Import(store, values).run()).stored == len(values)
    before = await store.database.look(_chunks)
    assert await Import(store, values).run() == Counted(there=len(values))
    assert await store.database.look(_chunks) == before


async def test_a_shuffled_file_is_the_same_file(store: ReadingStore) -> None:
    values = minutes(BEGIN_MS - 3 * DAY_MS, 4000)
    shuffled = list(values)
    random.Random(1).shuffle(shuffled)
    await Import(store, shuffled).run()
    assert (await Import(store, values).run()).stored == 0


async def test_what_is_kept_stays_unless_it_is_replaced(store: ReadingStore) -> None:
    at_ms = BEGIN_MS - DAY_MS
    await Import(store, [(at_ms, 1.0), (at_ms + 70_000, 1.0)]).run()
    news = [(at_ms + 70_000, 2.0), (at_ms + 130_000, 2.0)]
    assert await Import(store, news).run() == Counted(stored=1, there=1)
    assert (await kept(store, at_ms, BEGIN_MS)).means == [1.0, 1.0, 2.0]
    assert await Import(store, news, replaces=True).run() == Counted(stored=2)
    assert (await kept(store, at_ms, BEGIN_MS)).means == [1.0, 2.0, 2.0]


async def test_a_value_within_the_second_of_a_file_without_fractions_is_the_same(
    store: ReadingStore,
) -> None:
    await record(store, [(BEGIN_MS + n * MINUTE_MS + 345, 1.0) for n in range(9)])
    news = [(BEGIN_MS + n * MINUTE_MS, 2.0) for n in range(10)]
    assert await Import(store, news).run() == Counted(stored=1, there=9)
    rows = await kept(store, BEGIN_MS, NOW_MS)
    assert rows.means == [1.0] * 9 + [2.0]


async def test_newest_values_of_the_agent_are_never_there_twice(tmp_path: Path) -> None:
    store = ReadingStore(tmp_path, Retention(), "boot")
    await store.open()
    values = minutes(BEGIN_MS, 30)
    await record(store, values)
    for replaces in (False, True):
        work = Import(store, [*values, (BEGIN_MS - MINUTE_MS, 7.0)], replaces=replaces)
        assert (await work.run()).there == 30
    rows = await kept(store, BEGIN_MS - DAY_MS, NOW_MS)
    assert rows.means == [7.0, *(value for _, value in values)]
    await store.aclose()


async def test_what_the_agent_files_meanwhile_is_kept(store: ReadingStore) -> None:
    await record(store, minutes(BEGIN_MS, 2))
    work = Import(store, minutes(BEGIN_MS + 30_500, 600))
    await work.plan()
    # Packed after it was planned: the same days are others now
    await record(store, minutes(BEGIN_MS + 3 * MINUTE_MS, 7))
    await store.database.transact(work.work.run)
    rows = await kept(store, BEGIN_MS, NOW_MS)
    assert len(rows) == 609
    assert len(set(rows.at_ms)) == 609


async def test_the_agent_adds_to_a_day_that_was_imported(store: ReadingStore) -> None:
    values = minutes(BEGIN_MS + 30_500, 300)
    await Import(store, values).run()
    await record(store, minutes(BEGIN_MS, 9))
    rows = await kept(store, BEGIN_MS, NOW_MS)
    assert len(rows) == 309
    assert (await Import(store, values).run()).stored == 0


async def test_the_agent_adds_to_a_dense_day_that_was_imported(store: ReadingStore) -> None:
    values = minutes(BEGIN_MS + 500, 3000, 10_000)
    await Import(store, values).run()
    await record(store, minutes(BEGIN_MS + DAY_MS // 2, 9))
    rows = await kept(store, BEGIN_MS, BEGIN_MS + DAY_MS)
    assert len(rows) == 3009
    assert (await Import(store, values).run()).stored == 0


async def test_old_days_are_kept_by_the_quarter_and_stand_together(store: ReadingStore) -> None:
    first = BEGIN_MS - 400 * DAY_MS
    await Import(store, minutes(first, 300 * 24, 60 * MINUTE_MS)).run()
    assert len(await kept(store, first, BEGIN_MS)) == 300 * 24
    chunks = await store.database.look(_chunks)
    assert len(chunks) <= 300 // MONTH_DAYS + 2
    # A month that is there takes what was missing
    gap = [(first + 300 * DAY_MS + n * MINUTE_MS, 1.0) for n in range(100)]
    assert await Import(store, gap).run() == Counted(stored=100)
    rows = await kept(store, first, BEGIN_MS)
    assert rows.at_ms == sorted(set(rows.at_ms))
    assert len(rows) == 300 * 24 + 7


async def test_quarters_that_are_known_stay(store: ReadingStore) -> None:
    first = BEGIN_MS - 100 * DAY_MS
    await Import(store, [(first, 1.0)]).run()
    news = [(first + MINUTE_MS, 9.0), (first + 15 * MINUTE_MS, 2.0)]
    assert await Import(store, news).run() == Counted(stored=1, there=1)
    assert (await kept(store, first, BEGIN_MS)).means == [1.0, 2.0]
    assert (await Import(store, news, replaces=True).run()).stored == 2
    assert (await kept(store, first, BEGIN_MS)).means == [9.0, 2.0]


async def test_what_would_be_forgotten_at_once_is_not_stored(store: ReadingStore) -> None:
    old = BEGIN_MS - 1101 * DAY_MS
    assert await Import(store, [(old, 1.0), (BEGIN_MS, 2.0)]).run() == Counted(1, 0, 1)


async def test_values_further_apart_than_the_series_are_known_for_their_own_time(
    store: ReadingStore,
) -> None:
    await store.series(ROOM, 60)
    await Import(store, [(BEGIN_MS + n * 900_000, 1.0) for n in range(9)]).run()
    rows = await kept(store, BEGIN_MS, NOW_MS)
    assert rows.known_ms == [900_000] * 8 + [0]


async def test_a_pack_that_forgets_old_days_leaves_what_was_imported(
    store: ReadingStore,
) -> None:
    await Import(store, minutes(BEGIN_MS - 70 * DAY_MS, 70 * 96, 15 * MINUTE_MS)).run()
    before = summarize(await kept(store, BEGIN_MS - 70 * DAY_MS, BEGIN_MS))
    await record(store, minutes(BEGIN_MS, 9))
    after = summarize(await kept(store, BEGIN_MS - 70 * DAY_MS, BEGIN_MS))
    assert before == after


@pytest.mark.parametrize(
    ("kind", "seen", "value", "said"),
    [
        (ROOM, SeenReading("°F"), 70.0, "kept in °C, and the file has °F"),
        (ROOM, SeenReading("", is_switch=True), 1.0, "has numbers"),
        (SeriesKind(ROOM.name, is_switch=True), SeenReading(), 2.0, "is a switch"),
    ],
)
async def test_another_reading_by_that_name_is_refused(
    kind: SeriesKind, seen: SeenReading, value: float, said: str
) -> None:
    spool = CsvSpool()
    spool.add(CsvRow(ROOM.name, BEGIN_MS, value, value, value))
    (found,) = spool.readings()
    with pytest.raises(BadArguments, match=said):
        imported(FileSays(found, seen, None, repeats=False), Series(1, kind, 60), None)
    spool.close()


def _chunks(db: object) -> list[tuple[int, int, bytes]]:
    return db.execute("SELECT level, day, data FROM chunk ORDER BY 1, 2").fetchall()  # type: ignore[attr-defined,no-any-return]  # a connection
