"""What every archive of readings does, wherever it keeps them."""

from collections.abc import Sequence

import pytest

from agent.readings.archive import Archive
from agent.readings.columns import Columns, merged
from agent.readings.packing import DAY_MS, News, PackJob, Retention
from agent.readings.series import Series, SeriesKind
from agent.readings.summary import summarize

TODAY = 20_880
# Midnight, UTC
BEGIN_MS = TODAY * DAY_MS
ROOM = SeriesKind("room.temperature", "°C")
PUMP = SeriesKind("garden:pump", is_switch=True, is_board=False)
MINUTES = 1440


def job(number: int, *news: News, today: int = TODAY, kept: Retention | None = None) -> PackJob:
    return PackJob(list(news), number, today, kept or Retention())


def minutes(
    series: Series, values: Sequence[float], first: int = 0, begin_ms: int = BEGIN_MS
) -> News:
    """A value a minute."""
    times = [begin_ms + (first + at) * 60_000 for at in range(len(values))]
    return News(series, times, list(values))


async def rows(archive: Archive, series: Series, days: int = 1, first: int = 0) -> Columns:
    """The rows of whole days, as fine as they are kept where there are few."""
    begin_ms = BEGIN_MS + first * DAY_MS
    end_ms = begin_ms + days * DAY_MS
    kept = await archive.rows(series, begin_ms, end_ms, is_fine=days <= 3)
    whole = Columns()
    for one in kept.rows:
        whole = merged(whole, one)
    return whole.between(begin_ms, end_ms)


async def nothing_is_there_at_first(archive: Archive) -> None:
    state = await archive.state()
    assert (state.series, state.number, await archive.number()) == ([], 0, 0)
    assert len(await rows(archive, Series(1, ROOM, 60))) == 0


async def a_series_keeps_its_description(archive: Archive) -> None:
    for cadences_s in ({ROOM: 60, PUMP: 10}, {ROOM: 10}):
        kept = await archive.keep_series(cadences_s)
        assert {one.kind: one.cadence_s for one in kept} == cadences_s
    every = (await archive.state()).series
    assert [(one.kind, one.cadence_s) for one in every] == [(ROOM, 10), (PUMP, 10)]


async def what_measures_something_else_is_kept_apart(archive: Archive) -> None:
    volts, litres = SeriesKind("tank", "V"), SeriesKind("tank", "l")
    [tank] = await archive.keep_series({volts: 60})
    await archive.pack(job(1, minutes(tank, [2.0])))
    kept = {one.name: one for one in await archive.keep_series({litres: 60})}
    assert {name: one.kind.unit for name, one in kept.items()} == {"tank": "l", "tank.former": "V"}
    await archive.pack(job(2, minutes(kept["tank"], [70.0], first=1)))
    assert (await rows(archive, kept["tank.former"])).means == [2.0]
    assert (await rows(archive, kept["tank"])).means == [70.0]
    again = {one.name: one for one in await archive.keep_series({volts: 60})}
    assert (await rows(archive, again["tank"])).means == [2.0]
    assert (await rows(archive, again["tank.former"])).means == [70.0]


async def a_unit_that_was_not_known_is_learned(archive: Archive) -> None:
    [tank] = await archive.keep_series({SeriesKind("tank"): 60})
    await archive.pack(job(1, minutes(tank, [2.0])))
    [named] = await archive.keep_series({SeriesKind("tank", "V"): 60})
    assert (named.kind.unit, (await rows(archive, named)).means) == ("V", [2.0])


async def a_name_that_another_archive_gave_up_first_is_followed(archive: Archive) -> None:
    [tank] = await archive.keep_series({SeriesKind("tank", "V"): 60})
    await archive.pack(job(1, minutes(tank, [2.0])))
    former, litres = SeriesKind("tank.former", "V"), SeriesKind("tank", "l")
    kept = {one.name: one for one in await archive.keep_series({former: 60, litres: 60})}
    assert (await rows(archive, kept["tank.former"])).means == [2.0]
    assert len(await rows(archive, kept["tank"])) == 0


async def values_and_the_number_of_their_batch_are_there_together(archive: Archive) -> None:
    [room] = await archive.keep_series({ROOM: 60})
    await archive.pack(job(7, minutes(room, [20.5, -3.25, 1e6])))
    kept = await archive.rows(room, BEGIN_MS, BEGIN_MS + DAY_MS, is_fine=True)
    assert (kept.number, await archive.number(), kept.is_whole) == (7, 7, True)
    found = await rows(archive, room)
    assert found.at_ms == [BEGIN_MS, BEGIN_MS + 60_000, BEGIN_MS + 120_000]
    assert found.means == [20.5, -3.25, 1e6]
    assert found.known_ms == [60_000, 60_000, 0]


async def what_is_packed_twice_is_there_once(archive: Archive) -> None:
    [room] = await archive.keep_series({ROOM: 60})
    for _ in range(2):
        await archive.pack(job(1, minutes(room, [1.0, 2.0])))
        await archive.pack(job(2, minutes(room, [3.0], first=2)))
    assert (await rows(archive, room)).means == [1.0, 2.0, 3.0]
    quarters = await rows(archive, room, days=5)
    assert (quarters.counts, quarters.means) == ([3], [2.0])


async def a_packed_value_lasts_until_the_next_pack(archive: Archive) -> None:
    [pump] = await archive.keep_series({PUMP: 60})
    await archive.pack(job(1, minutes(pump, [0.0, 1.0])))
    await archive.pack(job(2, minutes(pump, [1.0, 0.0, 1.0], first=2)))
    fine, quarters = await rows(archive, pump), await rows(archive, pump, days=5)
    assert fine.on_ms == [0, 60_000, 60_000, 0, 0]
    assert (sum(quarters.on_ms), sum(quarters.known_ms)) == (120_000, 240_000)
    assert sum(fine.starts) == sum(quarters.starts) == 2


async def a_gap_is_covered_by_nothing(archive: Archive) -> None:
    [room] = await archive.keep_series({ROOM: 60})
    await archive.pack(job(1, minutes(room, [1.0]), minutes(room, [2.0], first=30)))
    assert (await rows(archive, room)).known_ms == [150_000, 0]


async def a_day_has_its_lowest_mean_and_highest(archive: Archive) -> None:
    [room] = await archive.keep_series({ROOM: 60})
    values = [minute % 96 / 8 for minute in range(MINUTES)]
    await archive.pack(job(1, minutes(room, values)))
    fine = summarize(await rows(archive, room))
    coarse = summarize(await rows(archive, room, days=5))
    assert fine is not None
    assert coarse is not None
    for found in (fine, coarse):
        assert (found.lowest.value, found.highest.value, found.count) == (0.0, 11.875, MINUTES)
        assert found.mean == pytest.approx(5.9375, abs=0.001)
    assert coarse.known_s == fine.known_s


async def each_level_is_kept_for_its_days(archive: Archive) -> None:
    wanted = Retention(raw_days=1, minute_days=3, quarter_days=30)
    [room] = await archive.keep_series({ROOM: 10})
    for day in range(6):
        # More than a value a minute
        times = [BEGIN_MS + day * DAY_MS + at * 10_000 for at in range(8640)]
        news = News(room, times, [float(at % 6) for at in range(8640)])
        await archive.pack(job(day + 1, news, today=TODAY + day, kept=wanted))
    lengths = [len(await rows(archive, room, first=day)) for day in range(6)]
    assert lengths == [96, 96, MINUTES, MINUTES, 8640, 8640]
    old = await rows(archive, room)
    assert (old.lows[0], old.means[0], old.highs[0], old.counts[0]) == (0.0, 2.5, 5.0, 90)
    assert len(await rows(archive, room, days=6)) == 6 * 96


async def a_late_value_joins_a_day_that_is_kept_by_the_minute(archive: Archive) -> None:
    wanted = Retention(raw_days=1, minute_days=30, quarter_days=90)
    [room] = await archive.keep_series({ROOM: 10})
    await archive.pack(job(1, minutes(room, [1.0, 3.0]), today=TODAY, kept=wanted))
    await archive.pack(job(2, today=TODAY + 5, kept=wanted))
    await archive.pack(job(3, minutes(room, [9.0], first=20), today=TODAY + 5, kept=wanted))
    found = await rows(archive, room)
    assert (found.at_ms[-1], found.means) == (BEGIN_MS + 20 * 60_000, [1.0, 3.0, 9.0])
    quarters = await rows(archive, room, days=5)
    assert (quarters.counts, quarters.means) == ([2, 1], [2.0, 9.0])


async def hostile_names_and_odd_values_come_back_as_they_were(archive: Archive) -> None:
    odd = SeriesKind("'; DROP TABLE reading_values; --%s", "%(unit)s °")
    [series] = await archive.keep_series({odd: 60})
    values = [0.1 + 0.2, -0.0, 1e300, -1e-300, 12345678901234.5]
    await archive.pack(job(1, minutes(series, values)))
    assert (await rows(archive, series)).means == values
    assert [one.kind for one in (await archive.state()).series] == [odd]


EVERY_ARCHIVE = (
    nothing_is_there_at_first,
    a_series_keeps_its_description,
    what_measures_something_else_is_kept_apart,
    a_unit_that_was_not_known_is_learned,
    a_name_that_another_archive_gave_up_first_is_followed,
    values_and_the_number_of_their_batch_are_there_together,
    what_is_packed_twice_is_there_once,
    a_packed_value_lasts_until_the_next_pack,
    a_gap_is_covered_by_nothing,
    a_day_has_its_lowest_mean_and_highest,
    each_level_is_kept_for_its_days,
    a_late_value_joins_a_day_that_is_kept_by_the_minute,
    hostile_names_and_odd_values_come_back_as_they_were,
)
