import random

import pytest

from agent.readings.columns import Columns
from agent.readings.judge import SensorFault, fault_of, habits_of

QUARTERS = 96


def rows_of(lows: list[float], highs: list[float]) -> Columns:
    means = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
    count = len(lows)
    at_ms = [at * 900_000 for at in range(count)]
    ones, nothing = [1] * count, [0] * count
    return Columns(at_ms, lows, means, highs, ones, nothing, nothing, nothing)


def moving(count: int) -> tuple[list[float], list[float]]:
    """A sensor that moves a little, and stands still for up to two hours."""
    noise = random.Random(2)
    lows, highs = [], []
    for at in range(count):
        value = round(20 + noise.gauss(0, 1), 1)
        still = at % QUARTERS < 8
        lows.append(20.0 if still else value)
        highs.append(20.0 if still else round(value + noise.uniform(0.1, 0.5), 1))
    return lows, highs


HABITS = habits_of(rows_of(*moving(14 * QUARTERS)))


def test_a_sound_sensor_has_no_fault() -> None:
    for end in range(QUARTERS, 4 * QUARTERS):
        lows, highs = moving(end)
        assert fault_of(rows_of(lows, highs), HABITS, "°C") is None


def test_a_sensor_that_stands_still_for_longer_than_ever_is_broken() -> None:
    lows, highs = moving(QUARTERS)
    found = []
    for _ in range(3 * 8 + 2):
        lows.append(21.0)
        highs.append(21.0)
        found.append(fault_of(rows_of(lows, highs), HABITS, "°C"))
    assert found.index(SensorFault.STILL) == 3 * 8 - 1


def test_a_sensor_that_may_stand_still_for_days_is_not_broken() -> None:
    habits = habits_of(rows_of([0.0] * 10 * QUARTERS, [0.0] * 10 * QUARTERS))
    assert fault_of(rows_of([0.0] * 3 * QUARTERS, [0.0] * 3 * QUARTERS), habits, "mm") is None


def test_a_sensor_that_jumps_is_broken() -> None:
    lows, highs = moving(QUARTERS)
    lows[-4:], highs[-4:] = [5.0] * 4, [35.0] * 4
    assert fault_of(rows_of(lows, highs), HABITS, "°C") is SensorFault.WILD


def test_what_rises_fast_does_not_jump() -> None:
    lows, highs = moving(QUARTERS)
    lows[-4:], highs[-4:] = [20.0, 30.0, 40.0, 50.0], [30.0, 40.0, 50.0, 60.0]
    assert fault_of(rows_of(lows, highs), HABITS, "°C") is None


@pytest.mark.parametrize(
    ("unit", "value", "fault"),
    [
        ("°C", -127.0, SensorFault.IMPOSSIBLE),
        ("%", 130.0, SensorFault.IMPOSSIBLE),
        ("hPa", 0.0, SensorFault.IMPOSSIBLE),
        ("", -127.0, None),
    ],
)
def test_what_cannot_be_is_broken(unit: str, value: float, fault: SensorFault | None) -> None:
    lows, highs = moving(QUARTERS)
    lows[-1], highs[-1] = min(lows[-1], value), max(highs[-1], value)
    assert fault_of(rows_of(lows, highs), HABITS, unit) is fault
