"""Chart of a reading: its points, the marks of its time axis, and a line of blocks for text."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from msgspec import Struct

from agent.readings.columns import HELD_CADENCES, ON_LEVEL, Columns, distances_ms, in_buckets
from agent.readings.periods import Span, local_time

# More points than this are closer together than a line is wide
MOST_POINTS = 400
BLOCKS = "▁▂▃▄▅▆▇█"
GAP_BLOCK = " "
# As wide as a line on a telephone
LINE_BLOCKS = 24
_HOUR = timedelta(hours=1)
_MILLISECOND = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
# Distances of marks on the time axis, and how each is written
_STEPS = (
    (timedelta(minutes=15), "%H:%M"),
    (_HOUR, "%H:%M"),
    (3 * _HOUR, "%H:%M"),
    (6 * _HOUR, "%H:%M"),
    (_DAY, "%d.%m."),
    (7 * _DAY, "%d.%m."),
    (30 * _DAY, "%d.%m."),
    (91 * _DAY, "%m/%Y"),
)
_MOST_TICKS = 6


class Bar(Struct, frozen=True):
    """An output under the curve, by its name."""

    name: str
    rows: Columns
    cadence_s: int


class ChartLook(Struct, frozen=True):
    """Look of a chart: its heading, lines at the limits of watches, and dark or light."""

    title: str
    limits: tuple[float, ...] = ()
    dark: bool = False


def chart_of(
    rows: Columns,
    span: Span,
    cadence_s: int,
    look: ChartLook,
    bars: Sequence[Bar] = (),
    zone: tzinfo | None = None,
) -> dict[str, Any]:
    """Return the chart in the words of `chart_program.py`; times in seconds."""
    bucket_ms = max(1, span.length_ms // MOST_POINTS)
    points = in_buckets(rows, bucket_ms) if len(rows) > MOST_POINTS else rows
    gap_s = max(cadence_s, bucket_ms / 1000) * HELD_CADENCES
    return {
        "title": look.title,
        "dark": look.dark,
        "begin": span.begin_ms / 1000,
        "end": span.end_ms / 1000,
        "gap_s": max(gap_s, max(distances_ms(points, cadence_s), default=0) / 1000),
        "points": [
            list(point)
            for point in zip(
                (at / 1000 for at in points.at_ms),
                points.lows,
                points.means,
                points.highs,
                strict=True,
            )
        ],
        "limits": list(look.limits),
        "ticks": [[at_ms / 1000, text] for at_ms, text in ticks(span, zone)],
        "bars": [{"name": bar.name, "spans": list(_spans_on(bar, span))} for bar in bars],
    }


def ticks(span: Span, zone: tzinfo | None = None) -> list[tuple[int, str]]:
    """Return the marks of the time axis: round local times, a few of them."""
    length = timedelta(milliseconds=span.length_ms)
    step, form = next((one for one in _STEPS if length / one[0] <= _MOST_TICKS), _STEPS[-1])
    begin = local_time(span.begin_ms, zone)
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    found: list[tuple[int, str]] = []
    number = 0
    while True:
        at = midnight + step * number
        # By the clock on the wall, also where summer time begins
        at_ms = round(at.replace(tzinfo=zone).timestamp() * 1000)
        if at_ms >= span.end_ms + _HOUR // _MILLISECOND:
            # An hour more: with those that are left out the marks go back
            return [one for one in found if one[0] < span.end_ms]
        # What the clock leaves out in spring is the same moment as an hour later
        is_shown = local_time(at_ms, zone).replace(tzinfo=None) == at
        if at_ms > span.begin_ms and is_shown:
            found.append((at_ms, at.strftime(form)))
        number += 1


def line_of(rows: Columns, span: Span) -> str:
    """Return the curve as a line of blocks; a gap is empty."""
    if not len(rows):
        return ""
    bucket_ms = max(1, math.ceil(span.length_ms / LINE_BLOCKS))
    low, high = min(rows.lows), max(rows.highs)
    width = (high - low) or 1.0
    blocks = [GAP_BLOCK] * LINE_BLOCKS
    sums: dict[int, list[float]] = {}
    for at_ms, mean in zip(rows.at_ms, rows.means, strict=True):
        sums.setdefault((at_ms - span.begin_ms) // bucket_ms, []).append(mean)
    for place, means in sums.items():
        share = (sum(means) / len(means) - low) / width
        blocks[place] = BLOCKS[min(len(BLOCKS) - 1, int(share * len(BLOCKS)))]
    return "".join(blocks)


def heading(name: str, unit: str, span: Span, zone: tzinfo | None = None) -> str:
    """Return the title: the reading, its unit and the days in local time."""
    begin, end = local_time(span.begin_ms, zone), local_time(span.end_ms, zone)
    days = _day(begin) if begin.date() == end.date() else f"{_day(begin)} - {_day(end)}"
    return f"{name}{f', {unit}' if unit else ''}   {days}"


def _day(at: datetime) -> str:
    return at.strftime("%d.%m.%Y")


def _spans_on(bar: Bar, span: Span) -> Iterator[list[float]]:
    """Yield the times in which it was on, in seconds; short ones that follow are one.

    It is on until the value that says otherwise, but for no longer than is known.
    """
    begin: float | None = None
    last = 0.0
    for at_ms, high, known_ms in zip(
        bar.rows.at_ms, bar.rows.highs, bar.rows.known_ms, strict=True
    ):
        at_s = at_ms / 1000
        is_behind_gap = at_s > last + bar.cadence_s
        if begin is not None and (high < ON_LEVEL or is_behind_gap):
            yield [begin, min(last if is_behind_gap else max(at_s, last), span.end_ms / 1000)]
            begin = None
        if high >= ON_LEVEL:
            begin = at_s if begin is None else begin
            last = at_s + known_ms / 1000
    if begin is not None:
        yield [begin, min(last, span.end_ms / 1000)]
