"""Judge of one reading: says once that it is unusual or that its sensor is broken.

It learns once a day from the past weeks, and looks at each quarter of an hour that is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import ClassVar

from agent.readings.baseline import DAY_MS, HOUR_MS, Baseline, Place, learned, places
from agent.readings.broken import Fault, Habits, fault_of, habits_of
from agent.readings.columns import Columns
from agent.readings.series import Series

# Back among half of what is unusual, or sound, for so many looks: it is over
_LOOKS_UNTIL_OVER = 8
_OVER_SHARE = 0.5
# What is told of a sound sensor
UNUSUAL = "unusual"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told.

    Args:
        fault: of the sensor; None where the value is only unusual.
        usual: lowest and highest of what is usual at this hour.
    """

    series: Series
    at_ms: int
    value: float
    fault: Fault | None = None
    usual: tuple[float, float] | None = None


class Judge:
    """Judge of one reading.

    Args:
        alarms_a_week: false ones that are allowed for this reading.
        zone: None is the zone of this machine.
        told: what was told last and lasts: the name of a fault, or "unusual".
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
        fault = fault_of(rows, self._habits, self.series.kind.unit)
        if fault is not None:
            return self._begun(Notice(self.series, rows.at_ms[-1], rows.means[-1], fault))
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
        # A broken sensor is unusual, too, before and after
        if name == self.told or (name == UNUSUAL and self.told):
            return None
        self.told = name
        return notice
