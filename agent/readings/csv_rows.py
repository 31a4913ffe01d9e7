"""Rows of a CSV file as readings, one after another; a row that is not understood says why."""

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import BadArguments
from agent.readings.csv_form import TIME, CsvForm, CsvLayout
from agent.readings.csv_times import TimeReader

_MS = 1000
_MOST_NAME_CHARS, _MOST_UNIT_CHARS = 64, 16
_NAME = re.compile(r"[\w-]+(?:[.:][\w-]+)*")
_SWITCHED = {"off": 0.0, "on": 1.0, "false": 0.0, "true": 1.0, "closed": 0.0, "open": 1.0}
# Nothing is known from then on: a gap, no mistake
_NOTHING = frozenset({"nan", "null", "none", "na", "n/a", "unknown", "unavailable"})
_SWITCH = "switch"
# A mean has three digits behind the point
_ROUNDED = 0.001


class CsvRow(Struct, frozen=True):
    """A value, or what is known of many.

    Args:
        mean: None where the file says that nothing is known from then on.
        on_ms: None, like those after it, where the file does not say.
    """

    reading: str
    at_ms: int
    low: float
    mean: float | None
    high: float
    count: int = 1
    on_ms: int | None = None
    known_ms: int | None = None
    starts: int | None = None


class BadRow(Struct, frozen=True):
    """A row, or a field of it, that is not understood."""

    line: int
    reading: str
    why: str


class SeenReading(Struct):
    """A reading as a whole, as the file tells it."""

    unit: str = ""
    is_switch: bool = False


class CsvReader:
    """Reads a file from its beginning to its end, once.

    Args:
        now_ms: a later time is refused.
    """

    def __init__(self, path: Path, form: CsvForm, times: TimeReader, now_ms: int) -> None:
        self._path = path
        self._form = form
        self._times = times
        self._now_ms = now_ms
        self._wanted = {one.column: one for one in form.columns}
        self.seen: dict[str, SeenReading] = {}
        self.lines = 0
        for one in form.columns:
            unit = _check_unit(one.unit)
            self.seen[_check_name(one.reading)] = SeenReading(unit, one.is_switch)

    def rows(self) -> Iterator[CsvRow | BadRow]:
        """Yield each value, or why there is none.

        Raises:
            BadArguments: what comes now is no CSV.
        """
        try:
            with self._path.open(encoding=self._form.encoding, newline="") as file:
                found = csv.reader(file, delimiter=self._form.delimiter)
                is_header = self._form.has_header
                for fields in found:
                    self.lines = found.line_num
                    if any(fields) and not is_header:
                        yield from self._of_row(fields)
                    is_header = is_header and not any(fields)
        except (csv.Error, UnicodeError) as err:
            raise BadArguments(f"{self._path}, after line {self.lines}: {err}") from err

    def _of_row(self, fields: Sequence[str]) -> Iterator[CsvRow | BadRow]:
        if len(fields) <= max(self._form.places.values()):
            yield BadRow(self.lines, "", f"has only {len(fields)} columns")
            return
        if self._form.layout is CsvLayout.MAPPED:
            yield from self._of_columns(fields)
            return
        named = dict(zip(self._form.places, fields, strict=False))
        is_own = self._form.layout is CsvLayout.OWN
        name = self._name(named["reading" if is_own else "entity_id"])
        if name is None:
            return
        try:
            yield self._own(name, named) if is_own else self._of_entity(name, named)
        except BadArguments as err:
            yield BadRow(self.lines, name, str(err))

    def _of_columns(self, fields: Sequence[str]) -> Iterator[CsvRow | BadRow]:
        try:
            at_ms = self._time(fields[self._form.places[TIME]], "")
        except BadArguments as err:
            yield BadRow(self.lines, "", str(err))
            return
        for one in self._form.columns:
            value = fields[self._form.places[one.reading]].strip()
            # A row without a value of this column says nothing of it
            if value:
                try:
                    yield self._value(at_ms, one.reading, value)
                except BadArguments as err:
                    yield BadRow(self.lines, one.reading, str(err))

    def _of_entity(self, reading: str, named: dict[str, str]) -> CsvRow:
        at_ms = self._time(named["last_changed"], reading)
        return self._value(at_ms, reading, named["state"].strip())

    def _name(self, found: str) -> str | None:
        """Return the reading that a name of the file becomes; None where it is not wanted."""
        if not self._wanted:
            return found
        return self._wanted[found].reading if found in self._wanted else None

    def _value(self, at_ms: int, reading: str, text: str) -> CsvRow:
        value = self._number(text)
        seen = self._seen(reading)
        seen.is_switch = seen.is_switch or text.lower() in _SWITCHED
        return CsvRow(reading, at_ms, value or 0.0, value, value or 0.0)

    def _own(self, reading: str, named: dict[str, str]) -> CsvRow:
        at_ms = self._time(named["time"], reading)
        low, mean, high, count = _bucket(named)
        on_ms = round(_plain(named["on_s"]) * _MS)
        known = named.get("known_s", "")
        known_ms = round(_plain(known) * _MS) if known else None
        starts = round(_plain(named["starts"])) if named.get("starts") else None
        seen = self._seen(reading)
        seen.unit = seen.unit or _check_unit(named["unit"])
        seen.is_switch = seen.is_switch or named.get("kind") == _SWITCH or on_ms > 0
        return CsvRow(reading, at_ms, low, mean, high, count, on_ms, known_ms, starts)

    def _seen(self, reading: str) -> SeenReading:
        found = self.seen.get(reading)
        if found is None:
            found = self.seen[_check_name(reading)] = SeenReading()
        return found

    def _time(self, text: str, reading: str) -> int:
        at_ms = self._times.read(text.strip(), reading)
        if at_ms < 0:
            raise BadArguments(f"{text!r} is before 1970")
        if at_ms > self._now_ms:
            raise BadArguments(f"{text!r} is in the future")
        return at_ms

    def _number(self, text: str) -> float | None:
        """Return the value; None where the file says that nothing was known."""
        word = text.lower()
        if word in _NOTHING:
            return None
        if word in _SWITCHED:
            return _SWITCHED[word]
        if self._form.decimal == "," and "." not in text:
            return _plain(text.replace(",", "."))
        return _plain(text)


def _bucket(named: dict[str, str]) -> tuple[float, float, float, int]:
    low, mean, high = (_plain(named[one]) for one in ("lowest", "mean", "highest"))
    count = round(_plain(named["values"]))
    if count < 1 or not low - _ROUNDED <= mean <= high + _ROUNDED:
        raise BadArguments("its numbers are not those of an export")
    return low, mean, high, count


def _plain(text: str) -> float:
    try:
        value = float(text)
    except ValueError as err:
        raise BadArguments(f"{text!r} is no number") from err
    # Of digits with "_" between them Python makes a number, too
    if not math.isfinite(value) or "_" in text:
        raise BadArguments(f"{text!r} is no number")
    return value


def _check_name(name: str) -> str:
    if len(name) > _MOST_NAME_CHARS or not _NAME.fullmatch(name):
        raise BadArguments(
            f"{name!r} is no name of a reading: letters, digits, _ and -, parts joined by . or :,"
            f" {_MOST_NAME_CHARS} at most"
        )
    return name


def _check_unit(unit: str) -> str:
    if len(unit) > _MOST_UNIT_CHARS or not unit.isprintable():
        raise BadArguments(f"{unit!r} is no unit: {_MOST_UNIT_CHARS} letters at most")
    return unit
