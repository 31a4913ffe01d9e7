"""CSV file of `barnacle readings import`: its options, its rows, and those not understood."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime, tzinfo

from msgspec import Struct, field

from agent.config import expanded
from agent.errors import BadArguments
from agent.readings.csv_form import ColumnMapping, CsvForm, CsvLayout, CsvOptions, form_of
from agent.readings.csv_rows import BadRow, CsvReader, SeenReading
from agent.readings.csv_spool import CsvSpool, SpooledReading
from agent.readings.csv_times import TimeReader
from agent.schedule.zone import local_zone

# Said of a file so often that a person sees that it goes on
_PROGRESS_LINES = 100_000
_MOST_SHOWN = 10


class BadRows(Struct):
    """Rows that are not understood: all counted, some shown."""

    count: dict[str, int] = field(default_factory=dict)
    shown: list[BadRow] = field(default_factory=list)

    def add(self, row: BadRow) -> None:
        self.count[row.reading] = self.count.get(row.reading, 0) + 1
        if len(self.shown) < _MOST_SHOWN:
            self.shown.append(row)

    def leave_out(self, reading: str) -> bool:
        """Forget the rows of a reading, if there are any."""
        self.shown = [one for one in self.shown if one.reading != reading]
        return self.count.pop(reading, 0) > 0

    def lines(self) -> Iterator[str]:
        for row in self.shown:
            where = f"line {row.line}" if row.line else row.reading
            yield f"  {where}: {row.why}"
        if (more := sum(self.count.values()) - len(self.shown)) > 0:
            yield f"  and {more} more"


class FileRead(Struct, frozen=True):
    """Content that was read out of the file.

    Args:
        repeats: a value lasts until the next one.
        distances_s: usual time between two values of a reading.
        left_out: readings that have words only.
    """

    form: CsvForm
    seen: dict[str, SeenReading]
    found: list[SpooledReading]
    bad: BadRows
    left_out: list[str]
    repeats: bool
    distances_s: dict[str, int | None]

    @property
    def is_refused(self) -> bool:
        return bool(self.bad.count)


def read_file(arguments: Namespace, spool: CsvSpool, now_ms: int) -> FileRead:
    """Read the file into the spool.

    Raises:
        BadArguments: it cannot be read as it is said.
    """
    path = expanded(arguments.file, os.environ)
    form = form_of(path, _options(arguments))
    reader = CsvReader(path, form, TimeReader(zone_of(arguments), arguments.format), now_ms)
    bad, said = BadRows(), _PROGRESS_LINES
    for row in reader.rows():
        if isinstance(row, BadRow):
            bad.add(row)
        else:
            spool.add(row)
        if reader.lines >= said:
            print(f"{said:,} lines read", file=sys.stderr)
            said += _PROGRESS_LINES
    found = spool.readings()
    for one in found:
        if one.clashes:
            at = local_text(spool.clash(one.name), zone_of(arguments))
            why = f"{at} has several values ({one.clashes} such times); the first counts"
            bad.add(BadRow(0, one.name, why))
    left_out: list[str] = []
    if form.layout is CsvLayout.HOME_ASSISTANT:
        # Its states are mostly words
        names = {one.name for one in found}
        left_out = [name for name in [*bad.count] if name not in names and bad.leave_out(name)]
    repeats = bool(arguments.until_next) or form.layout is CsvLayout.HOME_ASSISTANT
    distances_s = {one.name: spool.distance_s(one.name) for one in found}
    return FileRead(form, reader.seen, found, bad, left_out, repeats, distances_s)


def _options(arguments: Namespace) -> CsvOptions:
    columns = []
    for one in arguments.columns:
        if not {"value", "reading"} <= set(one):
            raise BadArguments("each --value needs a --reading, and each --reading a --value")
        is_switch = "switch" in one
        columns.append(ColumnMapping(one["value"], one["reading"], one.get("unit", ""), is_switch))
    if len({one.reading for one in columns}) < len(columns):
        raise BadArguments("two columns cannot become one reading")
    if len(arguments.delimiter) > 1 and arguments.delimiter != "\\t":
        raise BadArguments(f"--delimiter is one sign, not {arguments.delimiter!r}")
    decimal = {"comma": ",", "point": ".", None: ""}[arguments.decimal]
    delimiter = "\t" if arguments.delimiter == "\\t" else arguments.delimiter
    return CsvOptions(arguments.time, tuple(columns), delimiter, decimal, arguments.encoding)


def zone_of(arguments: Namespace) -> tzinfo:
    if not arguments.zone:
        return local_zone()
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only for those who name one

    try:
        return ZoneInfo(arguments.zone)
    except (OSError, ValueError, KeyError) as err:
        raise BadArguments(f"{arguments.zone} is no time zone such as Europe/Berlin") from err


def local_text(at_ms: int, zone: tzinfo) -> str:
    """Return a time for a person."""
    return datetime.fromtimestamp(at_ms / 1000, zone).strftime("%Y-%m-%d %H:%M:%S")
