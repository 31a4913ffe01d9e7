"""Baseline of a reading: what is usual at an hour of the week, by medians, from its own past.

A value is compared with the level of the day before it, so that seasons and the weather of a week
are nothing unusual. The limit follows from the past, too: from how often which distance was there,
and how often the owner wants to be told of nothing.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import pairwise
from statistics import median, quantiles

from msgspec import Struct

from agent.readings.columns import Columns
from agent.readings.periods import local_time

DAY_MS, HOUR_MS, QUARTER_MS = 86_400_000, 3_600_000, 900_000
WEEK_HOURS, DAY_HOURS = 168, 24
# The time of computers begins with a Thursday
_FIRST_HOUR = 3 * DAY_HOURS
# Nothing is unusual for somebody who has seen less than this
LEAST_DAYS = 14
# The first is found beside levels that wander with the hours; the second beside steady ones
_COURSES = 2
# A median of a day needs half of it
_LEAST_LEVEL = 48
# Values of one hour that say what is usual then
_LEAST_AT_HOUR = 8
# The hours of a weekday count by themselves where they explain so much of the distances
_WEEKDAY_GAIN = 0.25
# Nearer than this is usual, whatever the past says
_LEAST_LIMIT = 4.0
# An hour in which nothing ever happens is no sharper than this share of all hours
_FLOOR_SHARE = 0.1
# Of the value, where a sensor has always said the same
_VALUE_SHARE = 0.005
# Of a bell curve, 19 of 20 values are within
_USUAL_SPREADS = 2.0
# Distances above it belong to the tail, which is taken to fall off evenly
_TAIL_SHARE = 0.9
# The weeks to come differ from those that were learned: so many times fewer alarms are aimed at
_CAUTION = 3.0
# Distances in the tail that are nearer together than this are one event
_EVENT_MS = 6 * HOUR_MS
# The deviation of a bell curve is so many median deviations
_DEVIATIONS = 1.4826
_LEAST_SPREAD = 1e-6


class Place(Struct, frozen=True):
    """Place of a value among those of the day before it.

    Args:
        hour: of the week, in local time.
        level: of the day before, without its hours.
        distance: of the value from that level and its hour.
    """

    at_ms: int
    hour: int
    level: float
    distance: float


class Baseline(Struct, frozen=True):
    """Baseline of one reading.

    Args:
        course: usual distance from the level, by the hour of the week.
        spreads: how far it usually strays, by the hour of the week.
        limit: so many spreads from the middle is unusual.
    """

    course: Sequence[float]
    spreads: Sequence[float]
    limit: float

    def score(self, place: Place) -> float:
        """Return the distance in spreads; 1 is usual."""
        return place.distance / self.spreads[place.hour]

    def usual(self, place: Place) -> tuple[float, float]:
        """Return the lowest and the highest value that are usual then."""
        middle = place.level + self.course[place.hour]
        far = _USUAL_SPREADS * self.spreads[place.hour]
        return middle - far, middle + far


def learned(rows: Columns, alarms_a_week: float, zone: tzinfo | None = None) -> Baseline | None:
    """Return the baseline of quarters of an hour; None where too little is known.

    Args:
        alarms_a_week: how often something may be called unusual that is not.
    """
    if not len(rows) or rows.at_ms[-1] - rows.at_ms[0] < LEAST_DAYS * DAY_MS:
        return None
    course: Sequence[float] = (0.0,) * WEEK_HOURS
    known: list[Place] = []
    for _ in range(_COURSES):
        known = list(places(rows, course, zone))
        middles = _middles(known)
        if middles is None:
            return None
        course = [sum(both) for both in zip(course, middles, strict=True)]
    known = list(places(rows, course, zone))
    spreads = _spreads(known, rows.means)
    usual = Baseline(course, spreads, _LEAST_LIMIT)
    weeks = (known[-1].at_ms - known[0].at_ms + QUARTER_MS) / (7 * DAY_MS)
    limit = _limit([(one.at_ms, abs(usual.score(one))) for one in known], weeks, alarms_a_week)
    return Baseline(course, spreads, limit)


def places(rows: Columns, course: Sequence[float], zone: tzinfo | None = None) -> Iterator[Place]:
    """Yield the place of each row that half a day of others comes before.

    Args:
        course: usual distance from the level, by the hour of the week.
    """
    hours = _Hours(zone)
    window: list[float] = []
    flat: list[float] = []
    first = 0
    for now, (at_ms, value) in enumerate(zip(rows.at_ms, rows.means, strict=True)):
        hour = hours.of(at_ms)
        flat.append(value - course[hour])
        while rows.at_ms[first] < at_ms - DAY_MS:
            del window[bisect_left(window, flat[first])]
            first += 1
        if now - first >= _LEAST_LEVEL:
            level = window[len(window) // 2]
            yield Place(at_ms, hour, level, flat[now] - level)
        insort(window, flat[now])


class _Hours:
    """Hours of the week in local time; the zone is asked once an hour, since that is slow."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._begin = -1
        self._ahead_ms = 0

    def of(self, at_ms: int) -> int:
        begin = at_ms // HOUR_MS
        if begin != self._begin:
            ahead = local_time(at_ms, self._zone).utcoffset()
            self._ahead_ms = 0 if ahead is None else round(ahead.total_seconds() * 1000)
            self._begin = begin
        return ((at_ms + self._ahead_ms) // HOUR_MS + _FIRST_HOUR) % WEEK_HOURS


def _middles(known: Sequence[Place]) -> list[float] | None:
    """Return the usual distance at each hour of the week; days differ only where they do."""
    by_day = _by_hour(known, DAY_HOURS)
    if any(len(one) < _LEAST_AT_HOUR for one in by_day):
        return None
    daily = list(map(median, by_day)) * (WEEK_HOURS // DAY_HOURS)
    by_week = _by_hour(known, WEEK_HOURS)
    if any(len(one) < _LEAST_AT_HOUR for one in by_week):
        return daily
    weekly = list(map(median, by_week))
    if _strayed(known, weekly) < (1 - _WEEKDAY_GAIN) * _strayed(known, daily):
        return weekly
    return daily


def _by_hour(known: Sequence[Place], hours: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in range(hours)]
    for one in known:
        found[one.hour % hours].append(one.distance)
    return found


def _strayed(known: Sequence[Place], middles: Sequence[float]) -> float:
    return median(abs(one.distance - middles[one.hour]) for one in known)


def _spreads(known: Sequence[Place], values: Sequence[float]) -> list[float]:
    """Return the usual deviation at each hour; of all days together, which are more."""
    strays: list[list[float]] = [[] for _ in range(DAY_HOURS)]
    for one in known:
        strays[one.hour % DAY_HOURS].append(abs(one.distance))
    least = max(
        _LEAST_SPREAD,
        _step(values),
        _VALUE_SHARE * abs(median(values)),
        _FLOOR_SHARE * _DEVIATIONS * median(map(median, strays)),
    )
    return [max(least, _DEVIATIONS * median(one)) for one in strays] * (WEEK_HOURS // DAY_HOURS)


def _step(values: Sequence[float]) -> float:
    """Return the usual step between two different values that follow one another in size."""
    every = sorted(set(values))
    steps = [later - earlier for earlier, later in pairwise(every)]
    return median(steps) if steps else 0.0


def _limit(scores: Sequence[tuple[int, float]], weeks: float, alarms_a_week: float) -> float:
    """Return the score that is passed so rarely, by the fall of the tail.

    The median of the tail's peaks says how fast it falls: what was unusual in the past itself
    makes nobody deaf.
    """
    begin = quantiles((score for _, score in scores), n=100)[round(_TAIL_SHARE * 100) - 1]
    peaks = _peaks(scores, begin)
    if not peaks:
        return max(_LEAST_LIMIT, begin)
    fall = median(peak - begin for peak in peaks) / math.log(2)
    rarer = len(peaks) / weeks / (alarms_a_week / _CAUTION)
    return max(_LEAST_LIMIT, begin + fall * math.log(max(1.0, rarer)))


def _peaks(scores: Sequence[tuple[int, float]], begin: float) -> list[float]:
    found: list[float] = []
    last_ms = -_EVENT_MS
    for at_ms, score in scores:
        if score > begin:
            if at_ms - last_ms < _EVENT_MS:
                found[-1] = max(found[-1], score)
            else:
                found.append(score)
            last_ms = at_ms
    return found
