import math
import random
from datetime import UTC, datetime, timedelta, timezone

import pytest

from agent.readings.baseline import DAY_MS, QUARTER_MS, Baseline, Place, learned, places
from agent.readings.columns import Columns

# A Monday, midnight UTC
BEGIN_MS = 19_723 * DAY_MS
QUARTERS = 96
NO_COURSE = [0.0] * 168


def quarters(means: list[float]) -> Columns:
    count = len(means)
    at_ms = [BEGIN_MS + at * QUARTER_MS for at in range(count)]
    ones, nothing = [1] * count, [0] * count
    return Columns(at_ms, means, means, means, ones, nothing, nothing, nothing)


def days(count: int) -> list[float]:
    """A warm morning each day, and noise."""
    noise = random.Random(1)
    return [
        20 + 5 * math.sin(at / QUARTERS * math.tau) + noise.gauss(0, 0.3)
        for at in range(count * QUARTERS)
    ]


def of_days(count: int, alarms_a_week: float = 0.1) -> Baseline:
    made = learned(quarters(days(count)), alarms_a_week, UTC)
    assert made is not None
    return made


def test_less_than_two_weeks_say_nothing() -> None:
    assert learned(quarters(days(13)), 1.0, UTC) is None
    assert learned(Columns(), 1.0, UTC) is None


def test_what_is_usual_depends_on_the_hour() -> None:
    baseline = of_days(28)
    # Six in the morning is the warmest here, six in the evening the coldest
    warm, cold = (baseline.usual(Place(0, hour, 20.0, 0.0)) for hour in (6, 18))
    assert warm[0] < 25 < warm[1]
    assert cold[0] < 15 < cold[1]
    assert cold[1] < warm[0]


def test_what_is_usual_depends_on_the_weekday_where_days_differ() -> None:
    means = [
        # The nights of Tuesdays, Thursdays and Saturdays
        value + 8 * (at // QUARTERS % 7 in {1, 3, 5}) * (at % QUARTERS < 24)
        for at, value in enumerate(days(42))
    ]
    baseline = learned(quarters(means), 0.1, UTC)
    assert baseline is not None
    monday, tuesday = (baseline.course[day * 24 + 3] for day in (0, 1))
    assert abs(monday - tuesday) > 3


@pytest.mark.parametrize(("few", "many"), [(0.001, 0.01), (0.01, 0.1)])
def test_fewer_false_alarms_are_a_higher_limit(few: float, many: float) -> None:
    assert of_days(42, few).limit > of_days(42, many).limit


def test_what_was_unusual_in_the_past_makes_nobody_deaf() -> None:
    means = days(42)
    usual = learned(quarters(means), 0.1, UTC)
    for day in range(3, 40, 6):
        for at in range(day * QUARTERS, day * QUARTERS + 12):
            means[at] += 30
    after = learned(quarters(means), 0.1, UTC)
    assert usual is not None
    assert after is not None
    assert after.limit < 2 * usual.limit


def test_a_level_that_rises_over_weeks_is_nothing_unusual() -> None:
    means = [value + at / QUARTERS * 0.5 for at, value in enumerate(days(42))]
    baseline = learned(quarters(means), 0.1, UTC)
    assert baseline is not None
    newest = list(places(quarters(means), baseline.course, UTC))[-QUARTERS:]
    assert max(abs(baseline.score(one)) for one in newest) < baseline.limit


def test_a_sensor_that_always_said_the_same_has_a_baseline() -> None:
    baseline = learned(quarters([7.0] * 28 * QUARTERS), 0.1, UTC)
    assert baseline is not None
    same, other = (Place(0, 3, 7.0, distance) for distance in (0.0, 5.0))
    assert baseline.score(same) == 0
    assert baseline.score(other) > baseline.limit


def test_half_a_day_has_no_level() -> None:
    assert list(places(quarters(days(1)[:48]), NO_COURSE, UTC)) == []
    found = list(places(quarters(days(2)), NO_COURSE, UTC))
    assert found[0].at_ms == BEGIN_MS + 48 * QUARTER_MS
    assert found[0].hour == 12


def test_a_gap_is_no_part_of_a_level() -> None:
    rows = quarters(days(6))
    rows = Columns(*([*column[:QUARTERS], *column[4 * QUARTERS :]] for column in rows.every()))  # type: ignore[arg-type]  # each column keeps its type
    at_ms = [one.at_ms for one in places(rows, NO_COURSE, UTC)]
    assert at_ms[QUARTERS // 2] == BEGIN_MS + int(4.5 * DAY_MS)


@pytest.mark.parametrize("hours_ahead", [0, 5.75, -3.5, 2])
def test_hours_are_those_of_the_wall(hours_ahead: float) -> None:
    zone = timezone(timedelta(hours=hours_ahead))
    for place in places(quarters(days(9)), NO_COURSE, zone):
        local = datetime.fromtimestamp(place.at_ms / 1000, tz=zone)
        assert place.hour == local.weekday() * 24 + local.hour
