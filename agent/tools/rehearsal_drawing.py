"""Drawing of a rehearsal: a reading of the past, and under it bars for what would have been."""

import logging
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import BarnacleError
from agent.readings.chart import Bar, ChartLook, chart_of, heading
from agent.readings.columns import Columns
from agent.readings.periods import Span
from agent.readings.rehearsal import Past
from agent.tools.readings_draw import ReadingArtist

_log = logging.getLogger(__name__)

_MS = 1000
# More bars than this under a curve are not told apart
_MOST_BARS = 3


class RehearsedBar(Struct, frozen=True):
    """Times, from and to, of an output or of a watch that tells."""

    name: str
    times_ms: Sequence[tuple[int, int]]


class RehearsalScene(Struct, frozen=True):
    """Parts of the drawing.

    Args:
        name: of what is rehearsed; the file is named after it.
        limits: values at which a line is drawn.
    """

    name: str
    past: Past
    span: Span
    bars: Sequence[RehearsedBar]
    limits: tuple[float, ...] = ()


async def drawn(artist: ReadingArtist, scene: RehearsalScene) -> Path | None:
    """Return the file of the drawing; None where none can be made, which the words outlive."""
    past, zone = scene.past, artist.desk.zone
    if past.series is None or not len(past.rows):
        return None
    span = Span(max(scene.span.begin_ms, past.rows.at_ms[0]), scene.span.end_ms)
    if span.length_ms <= 0:
        return None
    title = heading(past.reading.name, past.reading.field.unit, span, zone)
    bars = [Bar(one.name, _as_rows(one, span), 0) for one in scene.bars[:_MOST_BARS]]
    cadence_s = past.held_ms // _MS // 2
    rows = past.rows.between(span.begin_ms, span.end_ms)
    chart = chart_of(rows, span, cadence_s, ChartLook(title, scene.limits), bars, zone)
    try:
        return await artist.kept(chart, f"rehearsal-{scene.name}")
    except BarnacleError as err:
        _log.warning("rehearsal: not drawn (reason=%s)", err)
        return None


def to_be_drawn(past: Sequence[Past]) -> Past | None:
    """Return the first reading that was recorded, rather a number than a switch."""
    known = [one for one in past if len(one.rows)]
    numbers = [one for one in known if not one.reading.field.choices]
    return next(iter([*numbers, *known]), None)


def _as_rows(bar: RehearsedBar, span: Span) -> Columns:
    times = [one for one in bar.times_ms if one[0] >= span.begin_ms]
    at_ms = [begin_ms for begin_ms, _ in times]
    lasted = [end_ms - begin_ms for begin_ms, end_ms in times]
    ones = [1.0] * len(times)
    counts = [1] * len(times)
    return Columns(at_ms, ones, ones, ones, counts, lasted, lasted, counts)
