import math
import random
from collections.abc import Iterator
from datetime import UTC

from agent.readings.baseline import DAY_MS, QUARTER_MS
from agent.readings.columns import Columns
from agent.readings.judge import Judge, Notice, SensorFault
from agent.readings.series import Series, SeriesKind

BEGIN_MS = 19_723 * DAY_MS
QUARTERS = 96
SERIES = Series(1, SeriesKind("room.temperature", "°C"), 60)
LEARNED = 28 * QUARTERS
COUNT = LEARNED + 3 * QUARTERS


def year_of(**planted: tuple[int, int, float]) -> Columns:
    """Four weeks to learn from and three days to judge; `planted` is begin, end and value added."""
    noise = random.Random(4)
    lows, means, highs = [], [], []
    for at in range(COUNT):
        value = 20 + 4 * math.sin(at / QUARTERS * math.tau) + noise.gauss(0, 0.3)
        for begin, end, added in planted.values():
            value += added * (begin <= at - LEARNED < end)
        lows.append(round(value - 0.2, 1))
        means.append(round(value, 3))
        highs.append(round(value + 0.2, 1))
    at_ms = [BEGIN_MS + at * QUARTER_MS for at in range(COUNT)]
    ones, nothing = [15] * COUNT, [0] * COUNT
    return Columns(at_ms, lows, means, highs, ones, nothing, nothing, nothing)


def looks(judge: Judge, rows: Columns) -> Iterator[tuple[int, Notice]]:
    begin_ms = BEGIN_MS + LEARNED * QUARTER_MS
    judge.learn(rows.between(0, begin_ms))
    for at in range(3 * QUARTERS):
        end_ms = begin_ms + (at + 1) * QUARTER_MS
        notice = judge.look(rows.between(end_ms - judge.LOOKED_AT_MS, end_ms))
        if notice is not None:
            yield at, notice


def told(judge: Judge, rows: Columns) -> list[tuple[int, Notice]]:
    return list(looks(judge, rows))


def test_three_usual_days_are_no_news() -> None:
    assert told(Judge(SERIES, 0.1, UTC), year_of()) == []


def test_what_is_unusual_is_told_once_as_it_begins() -> None:
    ((at, notice),) = told(Judge(SERIES, 0.1, UTC), year_of(fire=(50, 62, 9.0)))
    assert at == 50
    assert notice.fault is None
    assert notice.usual is not None
    assert notice.usual[1] < notice.value


def test_it_is_told_again_when_it_comes_back_after_it_was_over() -> None:
    rows = year_of(one=(50, 62, 9.0), two=(64, 70, 9.0), three=(150, 160, -9.0))
    assert [at for at, _ in told(Judge(SERIES, 0.1, UTC), rows)] == [50, 150]


def test_what_an_earlier_run_has_told_is_not_told_again() -> None:
    judge = Judge(SERIES, 0.1, UTC, told="unusual")
    assert told(judge, year_of(fire=(0, 12, 9.0))) == []
    assert judge.told == ""


def test_a_broken_sensor_is_called_broken_and_not_unusual() -> None:
    ((_, notice),) = told(Judge(SERIES, 0.1, UTC), year_of(fault=(40, 80, -147.0)))
    assert notice.fault is SensorFault.IMPOSSIBLE
    assert notice.usual is None


def test_without_a_past_nothing_is_said() -> None:
    judge = Judge(SERIES, 0.1, UTC)
    rows = year_of(fire=(0, 100, 50.0))
    judge.learn(rows.between(0, BEGIN_MS + 5 * DAY_MS))
    assert judge.look(rows) is None
    assert judge.look(Columns()) is None


def test_a_loose_wire_is_told_once_however_it_shows() -> None:
    rows = year_of()
    for at in range(LEARNED + 40, LEARNED + 80):
        # Each fourth quarter it jumps only, in the others it says what cannot be, too
        rows.lows[at], rows.highs[at] = (-127.0 if at % 4 else -60.0), 85.0
    faults = [notice.fault for _, notice in told(Judge(SERIES, 0.1, UTC), rows)]
    assert sorted(one.name for one in faults if one) == ["IMPOSSIBLE", "WILD"]


def test_the_value_that_cannot_be_is_told_and_not_the_mean_of_its_quarter() -> None:
    rows = year_of()
    rows.lows[LEARNED + 40] = -127.0
    rows.means[LEARNED + 40] = 10.2
    ((_, low),) = told(Judge(SERIES, 0.1, UTC), rows)
    assert (low.fault, low.value) == (SensorFault.IMPOSSIBLE, -127.0)
    rows = year_of()
    rows.highs[LEARNED + 40] = 1500.0
    ((_, high),) = told(Judge(SERIES, 0.1, UTC), rows)
    assert (high.fault, high.value) == (SensorFault.IMPOSSIBLE, 1500.0)
