"""Summary of a reading over a span of time: the small table that a model or a person is told."""

import itertools
import operator
from collections.abc import Sequence

from msgspec import Struct

from agent.readings.columns import HELD_CADENCES, Columns, distances_ms

_MS = 1000.0


class Moment(Struct, frozen=True):
    """A value and its time."""

    value: float
    at_ms: int


class Summary(Struct, frozen=True):
    """Summary of a span; `known_s` of its seconds are covered by values.

    Args:
        beyond_s: how long it was above `above` or below `below`, whichever was asked.
    """

    count: int
    first: Moment
    last: Moment
    lowest: Moment
    highest: Moment
    mean: float
    total: float
    known_s: float
    on_s: float
    starts: int
    beyond_s: float | None = None
    first_beyond: Moment | None = None
    last_beyond: Moment | None = None

    @property
    def change(self) -> float:
        return self.last.value - self.first.value


class Limit(Struct, frozen=True):
    """Values that are asked for: above or below a limit."""

    above: float | None = None
    below: float | None = None

    def holds(self, value: float) -> bool:
        if self.above is not None:
            return value > self.above
        return self.below is not None and value < self.below


def summarize(rows: Columns, limit: Limit | None = None) -> Summary | None:
    """Return the summary; None where nothing is known of the span."""
    if not len(rows):
        return None
    count = sum(rows.counts)
    total = float(sum(map(operator.mul, rows.means, rows.counts)))
    beyond = _beyond(rows, limit) if limit is not None else []
    return Summary(
        count=count,
        first=Moment(rows.means[0], rows.at_ms[0]),
        last=Moment(rows.means[-1], rows.at_ms[-1]),
        lowest=_found(rows.lows, rows.at_ms, min(rows.lows)),
        highest=_found(rows.highs, rows.at_ms, max(rows.highs)),
        mean=total / count,
        total=total,
        known_s=sum(rows.known_ms) / _MS,
        on_s=sum(rows.on_ms) / _MS,
        starts=sum(rows.starts),
        beyond_s=None if limit is None else sum(rows.known_ms[at] for at in beyond) / _MS,
        first_beyond=_at(rows, beyond[0]) if beyond else None,
        last_beyond=_at(rows, beyond[-1]) if beyond else None,
    )


class Gap(Struct, frozen=True):
    """Span without values."""

    begin_ms: int
    end_ms: int


def gaps(rows: Columns, begin_ms: int, end_ms: int, cadence_s: int) -> list[Gap]:
    """Return the spans in which nothing was recorded.

    Args:
        cadence_s: time between two rows that follow one another.
    """
    longest_ms = int(cadence_s * HELD_CADENCES * _MS)
    edges = itertools.pairwise([begin_ms, *rows.at_ms, end_ms])
    distances = [longest_ms, *distances_ms(rows, cadence_s)]
    return [
        Gap(earlier, later)
        for (earlier, later), most_ms in zip(edges, distances, strict=True)
        if later - earlier > most_ms
    ]


def _beyond(rows: Columns, limit: Limit) -> list[int]:
    return [at for at, value in enumerate(rows.means) if limit.holds(value)]


def _found(values: Sequence[float], at_ms: Sequence[int], wanted: float) -> Moment:
    return Moment(wanted, at_ms[values.index(wanted)])


def _at(rows: Columns, at: int) -> Moment:
    return Moment(rows.means[at], rows.at_ms[at])
