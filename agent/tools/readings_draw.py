"""Tool that draws a reading: a picture, and a line of blocks where no files can go."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from agent.errors import BadArguments, BarnacleError
from agent.messages import Effect
from agent.passage import Fact, Passage, Provenance, configured, own
from agent.readings.chart import Bar, ChartLook, chart_of, heading, line_of
from agent.readings.columns import Columns
from agent.readings.periods import PERIODS, Span
from agent.readings.series import Series
from agent.readings.summary import summarize
from agent.security.paths import list_beneath, remove_beneath, write_beneath
from agent.security.reader import ReaderRun, read_apart
from agent.security.sandbox.base import Sandbox
from agent.security.shares import READINGS
from agent.tools.base import FieldsTool, ToolContext
from agent.tools.picture_program import FOLDER, MAX_KEPT
from agent.tools.readings import QueryArguments, ReadingDesk, span_asked

PROGRAM = Path(__file__).parents[1] / "readings" / "chart_program.py"
# A Pi Zero needs some seconds; a person waits for it
_DRAWING_TIMEOUT_S = 30.0
_QUARTER_S = 900
_FINE_MS = 3 * 86_400_000
# More outputs than this under a curve are not told apart
_MOST_BARS = 3
_SUBJECT = "reading"
USAGE = "Say what to draw and for how long: /plot temperature 24h (or 30min, 7d, 4w, today, week)."
_LENGTH = re.compile(r"(\d{1,4})(min|h|d|w)")
_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}


class DrawArguments(QueryArguments, frozen=True):
    """Reading and period as for readings_query, and the look."""

    dark: Annotated[bool, Meta(description="light lines on dark ground")] = False


class Drawing(Struct, frozen=True):
    """A drawn reading.

    Args:
        path: of the picture in the workspace; empty where nothing can draw it.
    """

    series: Series
    span: Span
    rows: Columns
    line: str
    path: str


class ReadingArtist:
    """Draws readings into the workspace.

    Args:
        limits: limits of the watches on a reading, by its name.
        sandbox: None where nothing keeps programs apart.
    """

    def __init__(
        self,
        desk: ReadingDesk,
        workspace: Path,
        limits: Callable[[str], Sequence[float]],
        sandbox: Sandbox | None = None,
    ) -> None:
        self.desk = desk
        self._workspace = workspace
        self._limits = limits
        self._sandbox = sandbox

    async def drawn(self, arguments: DrawArguments, *, as_picture: bool = True) -> Drawing:
        """Return the drawing.

        Raises:
            BadArguments: there is no such reading, or nothing was recorded in that time.
            BarnacleError: it was not drawn, or not kept.
        """
        series = await self.desk.find(arguments.reading)
        span = span_asked(arguments, self.desk)
        rows = await self.desk.store.rows(series, span.begin_ms, span.end_ms)
        if not len(rows):
            raise BadArguments(own("nothing was recorded in this time"))
        path = ""
        if as_picture and find_spec("PIL") is not None:
            path = await self._picture(series, span, rows, dark=arguments.dark)
        return Drawing(series, span, rows, line_of(rows, span), path)

    @property
    def sandbox(self) -> Sandbox | None:
        """Return what keeps programs apart; None where nothing does."""
        return self._sandbox

    async def kept(self, chart: Mapping[str, Any], name: str) -> Path | None:
        """Draw the chart and return the file; None where nothing can draw it.

        Raises:
            BarnacleError: it was not drawn, or not kept.
        """
        if find_spec("PIL") is None:
            return None
        return self._workspace / await self._kept(chart, name)

    def file_of(self, drawing: Drawing) -> Path | None:
        """Return the file of the picture; None where there is none."""
        return self._workspace / drawing.path if drawing.path else None

    async def _picture(self, series: Series, span: Span, rows: Columns, *, dark: bool) -> str:
        cadence_s = series.cadence_s if span.length_ms <= _FINE_MS else _QUARTER_S
        title = heading(series.name, series.kind.unit, span, self.desk.zone)
        look = ChartLook(title, tuple(self._limits(series.name)), dark)
        bars = await self._bars(series, span)
        chart = chart_of(rows, span, cadence_s, look, bars, self.desk.zone)
        return await self._kept(chart, series.name)

    async def _kept(self, chart: Mapping[str, Any], named: str) -> str:
        content = await self._rendered(chart)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.desk.clock.wall_s()))
        name = named.replace(":", "-").replace(".", "-")
        path = f"{FOLDER}/{_SUBJECT}-{name}-{stamp}.png"
        self._make_room()
        write_beneath(self._workspace, path, content)
        return path

    async def _rendered(self, chart: Mapping[str, Any]) -> bytes:
        given = msgspec.json.encode(chart)
        run = ReaderRun(
            str(PROGRAM), (), given, _DRAWING_TIMEOUT_S, _DRAWING_TIMEOUT_S, with_packages=True
        )
        done = await read_apart(run, self._sandbox)
        if done.exit != 0 or not done.stdout:
            raise BadArguments(own("the chart could not be drawn"))
        return done.stdout

    async def _bars(self, series: Series, span: Span) -> list[Bar]:
        """Return the switches that were on in this time, few of them."""
        found: list[Bar] = []
        for one in self.desk.store.every_series():
            if one.kind.is_switch and one.id != series.id and len(found) < _MOST_BARS:
                rows = await self.desk.store.rows(one, span.begin_ms, span.end_ms)
                if sum(rows.on_ms):
                    cadence_s = one.cadence_s if span.length_ms <= _FINE_MS else _QUARTER_S
                    found.append(Bar(one.name, rows, 3 * cadence_s))
        return found

    def _make_room(self) -> None:
        """Remove the oldest drawings; their names end with their times."""
        folder = self._workspace / FOLDER
        if not folder.is_dir():
            return
        entries = list_beneath(self._workspace, FOLDER, 10 * MAX_KEPT)
        ours = [one.name for one in entries if one.name.startswith(f"{_SUBJECT}-")]
        ours.sort(key=lambda name: name[-len("20260101-000000.png") :])
        for name in ours[: max(0, len(ours) - MAX_KEPT + 1)]:
            remove_beneath(self._workspace, f"{FOLDER}/{name}")


class ReadingsDrawTool(FieldsTool[DrawArguments]):
    """Draws a reading as a picture."""

    reads = Provenance.SENSOR
    name = "readings_draw"
    description = own(
        "Draw what a sensor was in the past as a curve, with outputs as bars: put shown_by into "
        "the answer to send the picture, or line where no files can go."
    )
    effect = Effect.WRITE
    shown = READINGS
    arguments_type = DrawArguments

    def __init__(self, artist: ReadingArtist) -> None:
        self._artist = artist

    async def _fields_of(
        self, arguments: DrawArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        drawing = await self._artist.drawn(arguments)
        desk, found = self._artist.desk, summarize(drawing.rows)
        told: dict[str, Fact] = {
            "reading": desk.word(drawing.series, drawing.series.name),
            "line": configured(drawing.line),
        }
        if found is not None:
            told |= {"lowest": desk.moment(found.lowest), "highest": desk.moment(found.highest)}
        if drawing.path:
            path = desk.word(drawing.series, drawing.series.name).saying(drawing.path)
            told |= {"path": path, "shown_by": path.saying(f"[IMAGE:{drawing.path}]")}
        else:
            told["note"] = own("no picture: the extra 'drawing' is not installed")
        return told

    def _files_of(self, told: Mapping[str, Fact]) -> tuple[str, ...]:
        path = told.get("path")
        return (path.text,) if isinstance(path, Passage) else ()


def arguments_of(words: str) -> DrawArguments:
    """Return what is to be drawn; the last day where no length is given.

    Raises:
        BadArguments: no reading is named.
    """
    named = words.split()
    dark = bool(named) and named[-1] == "dark"
    named = named[:-1] if dark else named
    last = named[-1].casefold() if named else ""
    length = _LENGTH.fullmatch(last)
    is_time = length is not None or last in PERIODS
    reading = " ".join(named[:-1] if is_time else named)
    if not reading or len(reading) > _MOST_CHARS:
        raise BadArguments(USAGE)
    if length is not None:
        hours = int(length[1]) * _HOURS[length[2]]
        if not hours:
            raise BadArguments(USAGE)
        return DrawArguments(reading, hours=hours, dark=dark)
    return DrawArguments(reading, last if is_time else None, dark=dark)  # type: ignore[arg-type]  # one of the periods


_MOST_CHARS = 64


async def plotted(artist: ReadingArtist, words: str, *, takes_files: bool) -> str:
    """Return the answer: the picture where files can go, else a line of blocks."""
    try:
        drawing = await artist.drawn(arguments_of(words), as_picture=takes_files)
    except BarnacleError as err:
        return str(err)
    found, unit = summarize(drawing.rows), drawing.series.kind.unit
    if found is None:
        return USAGE
    ends = f"{found.lowest.value:g} to {found.highest.value:g} {unit}".strip()
    caption = f"{drawing.series.name}: {ends}"
    if drawing.path:
        return f"[IMAGE:{drawing.path}]\n{caption}"
    return f"{caption}\n{drawing.line}"
