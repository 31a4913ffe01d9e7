"""Hash chain of rows, and its verification.

Each row holds its number and the hash of the row before; its own hash covers every byte before it.
Pure: reads and writes nothing.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

# Before the first row
_NO_DIGEST = "0" * 64
# Of a row that cannot be read
_UNKNOWN = ""
_END = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')
_DIGEST = re.compile(r"[0-9a-f]{64}")

Value = str | int | float | bool
Row = Mapping[str, Value]


class Link(Struct, frozen=True):
    """A place in the chain: number and hash of a row."""

    number: int
    digest: str

    def __str__(self) -> str:
        return f"{self.number}:{self.digest}"


START = Link(0, _NO_DIGEST)


class Broken(ValueError):
    """The line is not a row as it was written; the text completes "the line ..."."""


def link_of(text: str) -> Link:
    """Return the place that a text names.

    Raises:
        ValueError: it is none.
    """
    number, _, digest = text.strip().partition(":")
    if not number.isdecimal() or not _DIGEST.fullmatch(digest):
        raise ValueError("a place in the log needs a row number, a colon and a hash")
    return Link(int(number), digest)


def tied(row: Row, after: Link) -> tuple[bytes, Link]:
    """Return the line of a row that follows `after`, and its place."""
    content = {"n": after.number + 1, **row, "prev": after.digest}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    body = text.encode(errors="replace")
    digest = hashlib.sha256(body).hexdigest()
    return body[:-1] + f',"hash":"{digest}"}}\n'.encode(), Link(after.number + 1, digest)


def untied(line: bytes) -> tuple[dict[str, Value], Link]:
    """Return the row of a line, and its place.

    Raises:
        Broken: the line is not as it was written.
    """
    found = _END.search(line.rstrip(b"\n"))
    if found is None:
        raise Broken("is not a row")
    body = line[: found.start()] + b"}"
    digest = found[1].decode()
    if hashlib.sha256(body).hexdigest() != digest:
        raise Broken("was changed")
    try:
        row = json.loads(body)
        return row, Link(int(row["n"]), digest)
    except (ValueError, TypeError, KeyError, RecursionError) as err:
        raise Broken("is not a row") from err


def problems(lines: Iterable[tuple[str, bytes]], anchors: Sequence[Link] = ()) -> Iterator[str]:
    """Yield one sentence for each fault of a chain; none for an intact chain.

    Args:
        lines: each with where it stands.
        anchors: places that are known from elsewhere.
    """
    first: tuple[str, Link, str] | None = None
    last, dropped = START, {str(START)}
    known = {anchor.number: anchor for anchor in anchors}
    for where, line in lines:
        try:
            row, link = untied(line)
        except Broken as err:
            yield f"{where}: the line {err}"
            # It stands for one row, of which nothing is known
            last = Link(last.number + 1, _UNKNOWN)
            continue
        before = str(row.get("prev", ""))
        if link.number in known and known.pop(link.number) != link:
            yield f"{where}: row {link.number} is not the original: it was replaced"
        if first is None:
            first = (where, link, before)
        elif complaint := _complaint(last, link, before):
            yield f"{where}: {complaint}"
        dropped.add(str(row.get("dropped", START)))
        last = link
    if first and str(Link(first[1].number - 1, first[2])) not in dropped:
        yield f"{first[0]}: the rows before row {first[1].number} are missing"
    for anchor in known.values():
        if first is None or anchor.number > last.number:
            yield f"the end is missing: row {anchor.number} was written after row {last.number}"


def _complaint(last: Link, link: Link, before: str) -> str:
    if link.number > last.number + 1:
        missing = link.number - last.number - 1
        what = "a row is missing" if missing == 1 else f"{missing} rows are missing"
        return f"{what} before row {link.number}"
    if link.number <= last.number:
        return f"row {link.number} comes after row {last.number}: inserted or moved"
    if last.digest not in (_UNKNOWN, before):
        return f"row {link.number} does not continue row {last.number}: one of them was replaced"
    return ""
