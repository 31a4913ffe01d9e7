"""Judge of one reading: says once that it is unusual or that its sensor is broken.

It learns once a day from the past weeks, and looks at each quarter of an hour that is over.
"""

import enum
from collections.abc import Sequence
from datetime import tzinfo
from itertools import pairwise
from statistics import median
from typing import ClassVar

from msgspec import Struct

from agent.readings.baseline import DAY_MS, HOUR_MS, Baseline, Place, learned, places
from agent.readings.columns import Columns
from agent.readings.series import Series

# By unit: a value outside is no value of the thing that is measured
POSSIBLE = {
    "°C": (-90.0, 1400.0),
    "%": (-1.0, 101.0),
    "hPa": (200.0, 1200.0),
    "lx": (-1.0, 250_000.0),
    "ppm": (-1.0, 100_000.0),
    "cm": (-1.0, 2000.0),
}
# So many times as long as ever before without the least change, and no less than six hours
_STILL_TIMES, _LEAST_STILL = 3, 24
# A quarter is wild where it spans so many times what hardly any has spanned
_WILD_TIMES, _HARDLY_ANY = 4.0, 0.99
# Quarters of the last hour that have to be wild, with their means near one another
_LOOKED_AT, _LEAST_WILD = 4, 3
_LEAST_WIDTH = 1e-6
# Back among half of what is unusual, or sound, for so many looks: it is over
_LOOKS_UNTIL_OVER = 8
_OVER_SHARE = 0.5
# What is told of a sound sensor
UNUSUAL = "unusual"


class SensorFault(enum.Enum):
    """Sign of a broken sensor, in the words that follow its name."""

    # No change at all for longer than it ever stood still
    STILL = "says the same all the time"
    # Back and forth, further than it ever moves
    WILD = "jumps back and forth"
    # Nothing that is measured has this value
    IMPOSSIBLE = "says what cannot be"


class Habits(Struct, frozen=True):
    """Habits of a sound sensor.

    Args:
        longest_still: quarters in a row without any change.
        width: what hardly any quarter has spanned.
    """

    longest_still: int
    width: float


def habits_of(rows: Columns) -> Habits:
    """Return the habits that its quarters of an hour show."""
    widths = sorted(high - low for low, high in zip(rows.lows, rows.highs, strict=True))
    hardly_any = widths[int(_HARDLY_ANY * (len(widths) - 1))] if widths else 0.0
    return Habits(max(_still_runs(rows), default=0), max(hardly_any, _LEAST_WIDTH))


def fault_of(rows: Columns, habits: Habits, unit: str) -> SensorFault | None:
    """Return the fault that the newest quarters show.

    Args:
        rows: as many quarters as are known lately: a day or more.
    """
    least, most = POSSIBLE.get(unit, (float("-inf"), float("inf")))
    if rows.lows[-1] < least or rows.highs[-1] > most:
        return SensorFault.IMPOSSIBLE
    if _is_wild(rows, habits):
        return SensorFault.WILD
    runs = _still_runs(rows)
    longest = max(_LEAST_STILL, _STILL_TIMES * habits.longest_still)
    return SensorFault.STILL if runs[-1] >= longest else None


def _value_of(fault: SensorFault, rows: Columns, unit: str) -> float:
    """Return the value that shows the fault in the newest quarter."""
    if fault is not SensorFault.IMPOSSIBLE:
        return rows.means[-1]
    # Beside sound values the mean is a possible one
    least, _ = POSSIBLE[unit]
    return rows.lows[-1] if rows.lows[-1] < least else rows.highs[-1]


def _still_runs(rows: Columns) -> list[int]:
    """Return the lengths of the runs of quarters without a change; 0 for one that moved."""
    runs: list[int] = []
    last: float | None = None
    for low, high in zip(rows.lows, rows.highs, strict=True):
        if low != high:
            runs.append(0)
            last = None
        elif low == last:
            runs[-1] += 1
        else:
            runs.append(1)
            last = low
    return runs


def _is_wild(rows: Columns, habits: Habits) -> bool:
    widths = [
        high - low
        for low, high in zip(rows.lows[-_LOOKED_AT:], rows.highs[-_LOOKED_AT:], strict=True)
    ]
    wild = [one for one in widths if one >= _WILD_TIMES * habits.width]
    if len(wild) < _LEAST_WILD:
        return False
    # What rises or falls fast leaves its mean behind
    moves = [abs(later - earlier) for earlier, later in pairwise(rows.means[-_LOOKED_AT:])]
    return median(moves) < median(wild)


class Notice(Struct, frozen=True):
    """Something to be told.

    Args:
        fault: of the sensor; None where the value is only unusual.
        usual: lowest and highest of what is usual at this hour.
    """

    series: Series
    at_ms: int
    value: float
    fault: SensorFault | None = None
    usual: tuple[float, float] | None = None


class Judge:
    """Judge of one reading.

    Args:
        alarms_a_week: false ones that are allowed for this reading.
        zone: None is the zone of this machine.
        told: what was told and lasts: names of faults, or "unusual", with spaces between.
    """

    # A baseline follows the season, and six weeks have enough of each weekday
    LEARNED_MS: ClassVar[int] = 42 * DAY_MS
    # A day before the newest quarter, and as long as a sensor may stand still
    LOOKED_AT_MS: ClassVar[int] = 4 * DAY_MS

    def __init__(
        self, series: Series, alarms_a_week: float, zone: tzinfo | None, told: str = ""
    ) -> None:
        self.told = told
        self.series = series
        self._alarms_a_week = alarms_a_week
        self._zone = zone
        self._baseline: Baseline | None = None
        self._habits: Habits | None = None
        self._well_looks = 0

    def learn(self, rows: Columns) -> None:
        """Take quarters of the past weeks as the measure."""
        self._baseline = learned(rows, self._alarms_a_week, self._zone)
        self._habits = None if self._baseline is None else habits_of(rows)

    def look(self, rows: Columns) -> Notice | None:
        """Return what is new, judged by the newest of some days of quarters."""
        if self._habits is None or self._baseline is None or not len(rows):
            return None
        unit = self.series.kind.unit
        fault = fault_of(rows, self._habits, unit)
        if fault is not None:
            value = _value_of(fault, rows, unit)
            return self._begun(Notice(self.series, rows.at_ms[-1], value, fault))
        place = self._newest(rows, self._baseline.course)
        score = 0.0 if place is None else abs(self._baseline.score(place))
        if place is not None and score >= self._baseline.limit:
            usual = self._baseline.usual(place)
            return self._begun(Notice(self.series, place.at_ms, rows.means[-1], usual=usual))
        if score < _OVER_SHARE * self._baseline.limit:
            self._well_looks += 1
            if self._well_looks >= _LOOKS_UNTIL_OVER:
                self.told = ""
        return None

    def _newest(self, rows: Columns, course: Sequence[float]) -> Place | None:
        begin_ms = rows.at_ms[-1] - DAY_MS - HOUR_MS
        known = list(places(rows.between(begin_ms, rows.at_ms[-1] + 1), course, self._zone))
        return known[-1] if known else None

    def _begun(self, notice: Notice) -> Notice | None:
        self._well_looks = 0
        name = notice.fault.name.lower() if notice.fault else UNUSUAL
        # A broken sensor is unusual, too, before and after, and shows its fault in several ways
        if name in self.told.split() or (name == UNUSUAL and self.told):
            return None
        self.told = f"{self.told} {name}".strip()
        return notice
