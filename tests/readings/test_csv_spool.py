from collections.abc import Iterator

import pytest

from agent.readings.csv_rows import CsvRow
from agent.readings.csv_spool import CsvSpool

DAY = 20_000
DAY_MS = 86_400_000
BEGIN_MS = DAY * DAY_MS
ROOM = "room.temperature"


@pytest.fixture
def spool() -> Iterator[CsvSpool]:
    made = CsvSpool()
    yield made
    made.close()


def add(spool: CsvSpool, at_s: float, value: float | None, reading: str = ROOM) -> None:
    spool.add(CsvRow(reading, BEGIN_MS + round(at_s * 1000), value or 0.0, value, value or 0.0))


def test_values_come_back_in_the_order_of_their_times(spool: CsvSpool) -> None:
    for second in (120, 0, 60):
        add(spool, second, second / 10)
    (found,) = spool.readings()
    assert (found.values, found.first_ms, found.last_ms) == (3, BEGIN_MS, BEGIN_MS + 120_000)
    assert (found.lowest, found.highest, found.resolution_ms) == (0.0, 12.0, 1000)
    day = spool.day(ROOM, DAY, 60, is_switch=False)
    assert (day.rows.means, day.rows.known_ms) == ([0.0, 6.0, 12.0], [60_000, 60_000, 0])


def test_times_between_seconds_are_known_as_such(spool: CsvSpool) -> None:
    add(spool, 0.5, 1.0)
    (found,) = spool.readings()
    assert found.resolution_ms == 1


def test_equal_rows_are_one_and_others_of_that_time_are_counted(spool: CsvSpool) -> None:
    for value in (1.0, 1.0, 2.0):
        add(spool, 60, value)
    (found,) = spool.readings()
    assert (found.values, found.clashes) == (1, 1)
    assert spool.clash(ROOM) == BEGIN_MS + 60_000
    assert spool.some(ROOM, 3) == [(BEGIN_MS + 60_000, 1.0)]


@pytest.mark.parametrize(
    ("seconds", "expected_s"),
    [((0, 60, 120, 180, 4000), 60), ((0, 60, 180), 90), ((0, 0.2), 1), ((0,), None)],
)
def test_the_usual_distance_is_the_middle_one(
    spool: CsvSpool, seconds: tuple[float, ...], expected_s: int | None
) -> None:
    for second in seconds:
        add(spool, second, 1.0)
    spool.flush()
    assert spool.distance_s(ROOM) == expected_s


def test_a_value_lasts_over_midnight_until_the_next_one(spool: CsvSpool) -> None:
    add(spool, 86_340, 1.0)
    add(spool, 86_460, 0.0)
    spool.flush()
    assert spool.days(ROOM, DAY, DAY + 9) == [DAY, DAY + 1]
    first = spool.day(ROOM, DAY, 60, is_switch=True)
    assert (first.rows.on_ms, first.rows.known_ms) == ([120_000], [120_000])
    assert len(spool.day(ROOM, DAY + 1, 60, is_switch=True).rows) == 1


def test_changes_are_repeated_until_the_next_one_or_a_gap(spool: CsvSpool) -> None:
    add(spool, 0, 1.0)
    add(spool, 180, 0.0)
    add(spool, 240, None)
    add(spool, 3600, 1.0)
    spool.flush()
    spool.repeat(ROOM, lambda _at: 60_000)
    day = spool.day(ROOM, DAY, 60, is_switch=True)
    assert [at - BEGIN_MS for at in day.rows.at_ms] == [0, 60_000, 120_000, 180_000, 3_600_000]
    assert day.is_said == [True, False, False, True, True]
    assert (sum(day.rows.on_ms), sum(day.rows.starts)) == (180_000, 1)
    (found,) = spool.readings()
    assert found.values == 3
