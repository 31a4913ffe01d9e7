"""Tools that answer from what was recorded: small tables, never raw rows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from agent.errors import BadArguments
from agent.messages import Effect
from agent.passage import Fact, Passage, Provenance, configured, echo, outside, own
from agent.readings.columns import Columns
from agent.readings.periods import Period, Span, last_hours, local_time, span_of
from agent.readings.series import Series, find_series, pin_of
from agent.readings.summary import Limit, Moment, Summary, gaps, summarize
from agent.security.shares import READINGS
from agent.system.clock import Clock
from agent.tools.base import Arguments, FieldsTool, NoArguments, ToolContext
from agent.tools.board_words import is_own_word

# Quarters of an hour follow one another at this distance
_QUARTER_S = 900
# Up to here the rows are single values
_FINE_MS = 3 * 86_400_000
_MOST_GAPS = 3
_DIGITS = 2


# One answer out of the table
Only = Literal["last", "lowest", "highest", "mean", "change", "sum", "on_s", "times_on"]
_MISSING = "the server with older readings does not answer: only what is still here is counted"
# What says of which reading and time the rest is
_HEADINGS = frozenset(
    {"reading", "unit", "from", "to", "values", "note", "before", "missing", "trouble"}
)


class RecordedReadings(Protocol):
    """Everything that was recorded."""

    trouble: str
    # The last rows lack what a server has that did not answer
    is_partial: bool

    async def open(self) -> None:
        """Read what there is; done once."""

    def every_series(self) -> Sequence[Series]: ...

    async def rows(self, series: Series, begin_ms: int, end_ms: int) -> Columns:
        """Return the rows of a span."""


class ReadingDesk:
    """Readings with the names that people use for them.

    Args:
        called: aliases and places of a pin by its name, as the owner configured them.
        zone: None is the zone of this machine.
    """

    def __init__(
        self,
        store: RecordedReadings,
        clock: Clock,
        called: Callable[[], Mapping[str, Collection[str]]],
        zone: tzinfo | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.zone = zone
        self._called = called

    async def find(self, said: str) -> Series:
        """Return the reading that is meant.

        Raises:
            BadArguments: there is none, or several may be meant.
        """
        await self.store.open()
        return find_series(self.store.every_series(), said, self._called())

    def word(self, series: Series, text: str) -> Passage:
        """Return a name or unit with its trust: the board's word, or the configuration's."""
        named = {*self._called(), *(pin_of(series),) * (not series.kind.is_board)}
        pieces = text.replace(":", ".").split(".")
        if not series.kind.is_board or all(is_own_word(piece, named) for piece in pieces):
            return configured(text)
        return outside(text, Provenance.SENSOR, f"board:{pin_of(series)}")

    def time(self, at_ms: int) -> Passage:
        return configured(local_time(at_ms, self.zone).isoformat(" ", "minutes"))

    def moment(self, one: Moment) -> dict[str, Fact]:
        return {"value": _short(one.value), "at": self.time(one.at_ms)}


class QueryArguments(Arguments, frozen=True):
    """Reading and period: one of period, hours, or begin with end."""

    reading: Annotated[
        str, Meta(min_length=1, max_length=64, description="name, alias or measure: temperature")
    ]
    period: Annotated[
        Period | None, Meta(description="day is the last 24 hours, night the last night")
    ] = None
    hours: Annotated[float, Meta(gt=0, le=90_000, description="the last so many")] | None = None
    begin: Annotated[str, Meta(max_length=32, description="local time, 2026-05-01T14:00")] = ""
    end: Annotated[str, Meta(max_length=32)] = ""
    above: Annotated[float, Meta(description="count the time above this value")] | None = None
    below: float | None = None
    compare: Annotated[bool, Meta(description="with the span of equal length before")] = False
    only: Only | None = None


class ReadingsQueryTool(FieldsTool[QueryArguments]):
    """Summarizes a reading over a span."""

    reads = Provenance.SENSOR
    name = "readings_query"
    description = own(
        "What a sensor, input or output was in the past: last, lowest, mean, highest, change, sum, "
        "time on, time above or below a value, each with its time."
    )
    effect = Effect.READ
    shown = READINGS
    arguments_type = QueryArguments

    def __init__(self, desk: ReadingDesk) -> None:
        self._desk = desk

    async def _fields_of(
        self, arguments: QueryArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        series = await self._desk.find(arguments.reading)
        span = span_asked(arguments, self._desk)
        limit = _limit(arguments)
        told: dict[str, Fact] = {
            "reading": self._desk.word(series, series.name),
            **({"unit": self._desk.word(series, series.kind.unit)} if series.kind.unit else {}),
            **await self._table(series, span, limit),
        }
        if arguments.compare:
            told["before"] = await self._table(series, span.before(), limit)
        if arguments.only is not None and arguments.only in told:
            kept = {*_HEADINGS, arguments.only}
            told = {key: fact for key, fact in told.items() if key in kept}
        if self._desk.store.trouble:
            told["trouble"] = configured(self._desk.store.trouble)
        return told

    async def _table(self, series: Series, span: Span, limit: Limit | None) -> dict[str, Fact]:
        rows = await self._desk.store.rows(series, span.begin_ms, span.end_ms)
        found = summarize(rows, limit)
        told: dict[str, Fact] = {
            "from": self._desk.time(span.begin_ms),
            "to": self._desk.time(span.end_ms),
        }
        if self._desk.store.is_partial:
            told["missing"] = own(_MISSING)
        if found is None:
            return told | {"values": 0, "note": own("nothing was recorded in this time")}
        if series.kind.is_switch:
            told |= self._switch(found, await self._last(series, found.last, span))
        else:
            told |= self._number(found)
        if limit is not None:
            told |= self._beyond(found)
        return told | self._gaps(series, rows, span)

    def _number(self, found: Summary) -> dict[str, Fact]:
        moment = self._desk.moment
        return {
            "values": found.count,
            "last": moment(found.last),
            "lowest": moment(found.lowest),
            "mean": _short(found.mean),
            "highest": moment(found.highest),
            "change": _short(found.change),
            "sum": _short(found.total),
        }

    async def _last(self, series: Series, last: Moment, span: Span) -> Moment | None:
        """Return the last value of a switch; None where only its share of a time is kept."""
        if 0 < last.value < 1:
            end_ms = min(span.end_ms, last.at_ms + _QUARTER_S * 1000)
            rows = await self._desk.store.rows(series, last.at_ms, end_ms)
            if len(rows):
                last = Moment(rows.means[-1], rows.at_ms[-1])
        return None if 0 < last.value < 1 else last

    def _switch(self, found: Summary, last: Moment | None) -> dict[str, Fact]:
        told: dict[str, Fact] = {}
        if last is not None:
            told |= {
                "last": configured("on" if last.value else "off"),
                "at": self._desk.time(last.at_ms),
            }
        return told | {
            "on_s": round(found.on_s),
            "times_on": found.starts,
            "known_s": round(found.known_s),
        }

    def _beyond(self, found: Summary) -> dict[str, Fact]:
        told: dict[str, Fact] = {"beyond_s": round(found.beyond_s or 0)}
        if found.first_beyond is not None and found.last_beyond is not None:
            told["first_beyond"] = self._desk.moment(found.first_beyond)
            told["last_beyond"] = self._desk.moment(found.last_beyond)
        return told

    def _gaps(self, series: Series, rows: Columns, span: Span) -> dict[str, Fact]:
        """Return the longest gaps, if there are any: what is not known is not made up."""
        cadence_s = series.cadence_s if span.length_ms <= _FINE_MS else _QUARTER_S
        found = sorted(
            gaps(rows, span.begin_ms, span.end_ms, cadence_s),
            key=lambda one: one.begin_ms - one.end_ms,
        )
        if not found:
            return {}
        longest = [
            {"from": self._desk.time(one.begin_ms), "to": self._desk.time(one.end_ms)}
            for one in found[:_MOST_GAPS]
        ]
        return {"gaps": len(found), "longest_gaps": longest}


class ReadingsListTool(FieldsTool[NoArguments]):
    """Lists what is recorded."""

    reads = Provenance.SENSOR
    name = "readings_list"
    description = own("The sensors, inputs and outputs whose past is known to readings_query.")
    effect = Effect.READ
    shown = READINGS
    arguments_type = NoArguments

    def __init__(self, desk: ReadingDesk) -> None:
        self._desk = desk

    async def _fields_of(self, arguments: NoArguments, context: ToolContext) -> Mapping[str, Fact]:
        await self._desk.store.open()
        every = self._desk.store.every_series()
        return {"readings": [self._listed(one) for one in every]}

    def _listed(self, series: Series) -> dict[str, Fact]:
        told: dict[str, Fact] = {"name": self._desk.word(series, series.name)}
        if series.kind.unit:
            told["unit"] = self._desk.word(series, series.kind.unit)
        if series.kind.is_switch:
            told["switch"] = True
        return told | {"every_s": series.cadence_s}


def span_asked(arguments: QueryArguments, desk: ReadingDesk) -> Span:
    """Return the span that is meant; the last day where nothing is said.

    Raises:
        BadArguments: the times cannot be read, or are the wrong way round.
    """
    now_s = desk.clock.wall_s()
    if arguments.begin:
        begin_ms = _ms_of(arguments.begin, desk)
        now_ms = round(now_s * 1000)
        end_ms = min(now_ms, _ms_of(arguments.end, desk) if arguments.end else now_ms)
        if begin_ms >= end_ms:
            raise BadArguments(own("begin must be before end, and in the past"))
        return Span(begin_ms, end_ms)
    if arguments.hours is not None:
        return last_hours(arguments.hours, now_s)
    return span_of(arguments.period or "day", now_s, desk.zone)


def _ms_of(text: str, desk: ReadingDesk) -> int:
    try:
        read = datetime.fromisoformat(text)
    except ValueError as err:
        raise BadArguments(echo(f"{text!r} is no time such as 2026-05-01T14:00")) from err
    at = read.replace(tzinfo=desk.zone) if read.tzinfo is None else read
    return round(at.timestamp() * 1000)


def _limit(arguments: QueryArguments) -> Limit | None:
    if arguments.above is not None and arguments.below is not None:
        raise BadArguments(own("use only one of above and below"))
    if arguments.above is None and arguments.below is None:
        return None
    return Limit(arguments.above, arguments.below)


def _short(value: float) -> float:
    return round(value, _DIGITS)
