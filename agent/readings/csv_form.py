"""Form of a CSV file: which of its columns are readings, and how numbers are written in it.

Our own export and the history export of Home Assistant are recognised by their headings; of every
other file somebody says which column is the time, and which are values of what.
"""

import codecs
import csv
import enum
import io
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.errors import BadArguments

# Enough to see how a file is written
_SAMPLE_BYTES = 65_536
_DELIMITERS = ",;\t|"
_OWN = ("time", "reading", "unit", "lowest", "mean", "highest", "values", "on_s")
_HOME_ASSISTANT = ("entity_id", "state", "last_changed")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+")
# Of which nobody knows if three digits follow a thousand or a point
_DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_MOST_NAMED = 12


class CsvLayout(enum.Enum):
    """Layout of a file."""

    # Rows of `barnacle readings export`, with all their columns
    OWN = "export of Barnacle"
    # A row for each change of an entity
    HOME_ASSISTANT = "history of Home Assistant"
    # A column for each reading
    MAPPED = "columns as given"


class ColumnMapping(Struct, frozen=True):
    """A column, or an entity of Home Assistant, and the reading that it becomes."""

    column: str
    reading: str
    unit: str = ""
    is_switch: bool = False


class CsvOptions(Struct, frozen=True):
    """Options that somebody gave; what is empty is found out.

    Args:
        time: column of the times; a number counts the columns from 1.
        decimal: sign before the digits of a fraction.
    """

    time: str = ""
    columns: tuple[ColumnMapping, ...] = ()
    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""


class CsvForm(Struct, frozen=True):
    """Form of one file.

    Args:
        places: of the columns, by their names; for `MAPPED` those of the time and of each value.
        decimal: empty where no number has a comma.
    """

    layout: CsvLayout
    encoding: str
    delimiter: str
    decimal: str
    has_header: bool
    places: dict[str, int] = field(default_factory=dict)
    columns: tuple[ColumnMapping, ...] = ()


TIME = "time"


def form_of(path: Path, options: CsvOptions) -> CsvForm:
    """Return how the file is to be read.

    Raises:
        BadArguments: it cannot be told, or the file has no such column.
    """
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    encoding = options.encoding or _encoding(sample)
    text = _decoded(sample, encoding, path)
    if not text.strip():
        raise BadArguments(f"{path} is empty")
    delimiter = options.delimiter or _delimiter(text)
    # The headings may come after empty lines
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    if len(sample) == _SAMPLE_BYTES and len(rows) > 1:
        # Cut in the middle
        rows.pop()
    if not rows:
        raise BadArguments(f"{path} is empty")
    layout, places, has_header = _layout(rows[0], options, path)
    body = rows[has_header:]
    decimal = options.decimal or _decimal(body, _value_places(layout, places), path)
    return CsvForm(layout, encoding, delimiter, decimal, has_header, places, options.columns)


def _layout(
    first: Sequence[str], options: CsvOptions, path: Path
) -> tuple[CsvLayout, dict[str, int], bool]:
    names = [one.strip() for one in first]
    if not options.time:
        for layout, needed in ((CsvLayout.OWN, _OWN), (CsvLayout.HOME_ASSISTANT, _HOME_ASSISTANT)):
            if set(needed) <= set(names):
                return layout, {name: at for at, name in enumerate(names)}, True
    if not (options.time and options.columns):
        raise BadArguments(
            f"{path} is no export of Barnacle or Home Assistant: say which of its columns are what"
            f" ({_named(names)}), for example --time {names[0] or 1} --value {names[-1] or 2}"
            " --reading room.temperature"
        )
    asked = [options.time, *(one.column for one in options.columns)]
    # A file without headings has its columns counted
    has_header = any(one in names for one in asked)
    found = [_place(one, names, path) for one in asked]
    keys = (TIME, *(one.reading for one in options.columns))
    return CsvLayout.MAPPED, dict(zip(keys, found, strict=True)), has_header


def _place(asked: str, names: Sequence[str], path: Path) -> int:
    if names.count(asked) > 1:
        raise BadArguments(f"{path} has several columns {asked!r}: give its number, from 1")
    if asked in names:
        return names.index(asked)
    if asked.isdecimal() and 1 <= int(asked) <= len(names):
        return int(asked) - 1
    raise BadArguments(f"{path} has no column {asked!r}, but {_named(names)}")


def _value_places(layout: CsvLayout, places: dict[str, int]) -> list[int]:
    if layout is CsvLayout.MAPPED:
        return [at for name, at in places.items() if name != TIME]
    # Both always write a point
    return []


def _encoding(sample: bytes) -> str:
    is_wide = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_wide else "utf-8-sig"


def _decoded(sample: bytes, encoding: str, path: Path) -> str:
    try:
        # A letter that the end of the sample cuts is no error
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except LookupError as err:
        raise BadArguments(f"there is no encoding {encoding!r}: utf-8, cp1252, utf-16 ...") from err
    except UnicodeDecodeError as err:
        raise BadArguments(
            f"{path} is not {encoding}: give its encoding, --encoding cp1252"
        ) from err


def _delimiter(text: str) -> str:
    header = text.lstrip("\r\n").splitlines()[0]
    try:
        sniffed = csv.Sniffer().sniff(text, _DELIMITERS).delimiter
    except csv.Error:
        sniffed = ""
    if sniffed and sniffed in header:
        return sniffed
    # One column of values without a heading confuses the sniffer
    return max(_DELIMITERS, key=header.count)


def _decimal(body: Sequence[Sequence[str]], places: Sequence[int], path: Path) -> str:
    values = [row[at].strip() for row in body for at in places if at < len(row)]
    commas = [one for one in values if _WITH_COMMA.fullmatch(one)]
    if not commas:
        return ""
    if all(_DOUBTFUL.fullmatch(one) for one in commas):
        raise BadArguments(
            f"{path} has {commas[0]!r}: say if the comma begins a fraction, --decimal comma, or"
            " not, --decimal point"
        )
    return ","


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
