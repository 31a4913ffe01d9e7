"""Anomalies planted into a year of weather-like series: what is noticed, and what is not there.

Ten sensors with a day, a season, weather that lasts for days, and noise. Planted are hours that are
8 to 14 degrees too warm or too cold, and sensors that stand still, jump, or say what cannot be.
"""

import enum
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from agent.readings.columns import Columns
from agent.readings.judge import Judge
from agent.readings.series import Series, SeriesKind
from scripts.lib.bench.table import Row

SENSORS, DAYS, QUARTERS = 10, 365, 96
BEGIN_MS = 20_000 * 86_400_000
QUARTER_MS = 900_000
# Weeks in which nothing is planted, so that something can be learned
QUIET_DAYS = 28
ALARMS_A_WEEK = 1.0
MOST_A_WEEK, LEAST_FOUND = 1.0, 0.95
# What is planted begins so many quarters after the one before
_BETWEEN = (6 * QUARTERS, 12 * QUARTERS)
# An alarm so long after the end of something planted belongs to it: the day before is its measure
_AFTER = QUARTERS


class Planted(enum.Enum):
    """Kind of anomaly."""

    WARM_OR_COLD = "too warm or cold"
    STILL = "still"
    WILD = "jumping"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class Plant:
    """Anomaly of one sensor, in quarters since the beginning."""

    kind: Planted
    begin: int
    end: int


def noticed_rows(sensors: int) -> list[Row]:
    """Return what was noticed in a year of so many sensors."""
    if not sensors:
        return []
    found: dict[Planted, list[bool]] = {kind: [] for kind in Planted}
    false = 0
    for sensor in range(sensors):
        chance = random.Random(sensor)  # noqa: S311 - the same series again
        rows, plants = _year(sensor, chance)
        alarms = list(_alarms(rows))
        for plant in plants:
            found[plant.kind].append(any(plant.begin <= at <= plant.end for at in alarms))
        false += sum(
            all(not one.begin <= at <= one.end + _AFTER for one in plants) for at in alarms
        )
    every = [one for kind in found.values() for one in kind]
    share = sum(every) / len(every)
    weeks = (DAYS - QUIET_DAYS) / 7
    told = ", ".join(f"{kind.value} {sum(one)} of {len(one)}" for kind, one in found.items())
    a_week = false / weeks
    return [
        Row(
            "planted anomalies found",
            f">= {LEAST_FOUND:.0%}",
            f"{share:.1%}",
            told,
            share >= LEAST_FOUND,
        ),
        Row(
            f"false alarms a week, {sensors} sensors, {ALARMS_A_WEEK:g} allowed of {SENSORS}",
            f"<= {MOST_A_WEEK:g}",
            f"{a_week:.2f}",
            f"{false} in {weeks:.0f} weeks",
            a_week <= MOST_A_WEEK,
        ),
    ]


def _alarms(rows: Columns) -> Iterator[int]:
    """Yield the quarters at which the owner is told something."""
    judge = Judge(Series(1, SeriesKind("room.temperature", "°C"), 60), ALARMS_A_WEEK / SENSORS, UTC)
    for day in range(QUIET_DAYS, DAYS):
        begin = BEGIN_MS + day * QUARTERS * QUARTER_MS
        judge.learn(rows.between(begin - judge.LEARNED_MS, begin))
        for quarter in range(QUARTERS):
            end = begin + (quarter + 1) * QUARTER_MS
            if judge.look(rows.between(end - judge.LOOKED_AT_MS, end)) is not None:
                yield day * QUARTERS + quarter


def _year(sensor: int, chance: random.Random) -> tuple[Columns, Sequence[Plant]]:
    count = DAYS * QUARTERS
    weather = 0.0
    lows: list[float] = []
    means: list[float] = []
    highs: list[float] = []
    for quarter in range(count):
        # Weather that lasts for two days
        weather = 0.995 * weather + chance.gauss(0, 0.15)
        day = 5 * math.sin(quarter / QUARTERS * math.tau + sensor / 3)
        season = 8 * math.sin(quarter / count * math.tau)
        mean = 12 + sensor / 2 + day + season + weather
        lows.append(round(mean - abs(chance.gauss(0.1, 0.05)), 1))
        highs.append(round(mean + abs(chance.gauss(0.1, 0.05)), 1))
        means.append(round(mean, 3))
    plants = list(_plants(chance))
    for plant in plants:
        _plant(plant, chance, lows, means, highs)
    at_ms = [BEGIN_MS + quarter * QUARTER_MS for quarter in range(count)]
    ones, lasted, nothing = [15] * count, [QUARTER_MS] * count, [0] * count
    return Columns(at_ms, lows, means, highs, ones, nothing, lasted, nothing), plants


def _plants(chance: random.Random) -> Iterator[Plant]:
    begin = QUIET_DAYS * QUARTERS + chance.randint(*_BETWEEN)
    while begin < (DAYS - 3) * QUARTERS:
        kind = chance.choice([*Planted, *(Planted.WARM_OR_COLD,) * 3])
        length = chance.randint(48, 96) if kind is Planted.STILL else chance.randint(8, 24)
        yield Plant(kind, begin, begin + length)
        begin += length + chance.randint(*_BETWEEN)


def _plant(
    plant: Plant,
    chance: random.Random,
    lows: list[float],
    means: list[float],
    highs: list[float],
) -> None:
    by = chance.choice((-1, 1)) * chance.uniform(8, 14)
    stuck = round(means[plant.begin], 1)
    for at in range(plant.begin, plant.end):
        match plant.kind:
            case Planted.WARM_OR_COLD:
                change = (by, by, by)
            case Planted.STILL:
                change = (stuck - lows[at], stuck - means[at], stuck - highs[at])
            case Planted.WILD:
                change = (-abs(by), chance.uniform(-0.5, 0.5), abs(by))
            case Planted.IMPOSSIBLE:
                change = (-127 - lows[at], -127 - means[at], -127 - highs[at])
        lows[at], means[at], highs[at] = (
            round(old + one, 3)
            for old, one in zip((lows[at], means[at], highs[at]), change, strict=True)
        )
