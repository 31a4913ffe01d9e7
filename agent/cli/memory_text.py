"""Memories as rows that fit the terminal, as fields, as JSON and as Markdown."""

import itertools
import shutil
import sys
import time
import unicodedata
from collections.abc import Sequence

from agent.cli.output import clean
from agent.errors import MemoryUnavailable
from agent.memory.base import EXPORT_TITLE, MemoryEntry, MemoryStats
from agent.text.printable import printable_line, printable_text

# A key is a few words; more is a mistake of whoever chose it
_MAX_KEY_CHARS = 100
# On a terminal the content gets most of the line; a key no more than a fifth
_MAX_CELL_COLUMNS = 14
_KEY_PART = 5
# As long as the longest thing that is remembered
_MAX_CONTENT_CHARS = 1_000_000
# Of a time that no calendar has
NO_DAY = "unknown"


def row(entry: MemoryEntry, *, whose: bool = False) -> tuple[str, ...]:
    """The content last: it is what is cut."""
    owner = (entry.scope.owner.partition(":")[2] or "everybody",) if whose else ()
    return (
        day_of(entry.updated_at_s),
        *owner,
        entry.category,
        entry.provenance.name.lower(),
        entry.key,
        entry.content,
    )


def story_row(entry: MemoryEntry) -> tuple[str, ...]:
    """Since when, until when, by whom, in which words."""
    until = "" if entry.until_s is None else f"until {day_of(entry.until_s)}"
    return (
        day_of(entry.created_at_s),
        until,
        entry.provenance.name.lower(),
        entry.key,
        entry.content,
    )


def say_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows whose columns line up; on a terminal none is wider than it."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    cleaned = [[clean(cell) for cell in one] for one in rows]
    if width is not None:
        cleaned = [
            [
                *(_cut(cell, _MAX_CELL_COLUMNS) for cell in one[:-2]),
                *(_cut(key, max(_MAX_CELL_COLUMNS // 2, width // _KEY_PART)) for key in one[-2:-1]),
                one[-1],
            ]
            for one in cleaned
        ]
    widths = [max(map(_columns, column)) for column in zip(*cleaned, strict=True)]
    for one in cleaned:
        cells = [
            cell + " " * (most - _columns(cell)) for cell, most in zip(one, widths, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        print(line if width is None else _cut(line, width))


def note(sentence: str) -> None:
    """Say something beside the result."""
    print(f"barnacle: {clean(sentence)}", file=sys.stderr)


def no_such(key: str, person: str) -> MemoryUnavailable:
    return MemoryUnavailable(
        f"{person} has no memory with the key {key}: `barnacle memory list` shows the keys"
    )


def fields(entry: MemoryEntry) -> list[tuple[str, str]]:
    """Everything but the content, as names and values for people."""
    rows = [
        ("key", entry.key),
        ("whose", entry.scope.owner.replace(":", " ", 1) or "everybody's"),
        ("category", entry.category),
        ("said by", entry.provenance.name.lower()),
        ("source", entry.source),
        ("session", entry.scope.session or ""),
        ("stored", _moment(entry.created_at_s)),
        ("changed", _moment(entry.updated_at_s)),
        ("true until", "" if entry.until_s is None else _moment(entry.until_s)),
        ("importance", f"{entry.importance:g}"),
        ("pinned", "yes" if entry.pinned else ""),
    ]
    return [(name, value) for name, value in rows if value]


def stats_rows(stats: MemoryStats) -> list[tuple[str, str]]:
    rows = [
        ("memories", str(stats.count)),
        ("hidden by newer ones", str(stats.superseded)),
        ("pinned", str(stats.pinned)),
        ("size", f"{stats.size_bytes / 1024:.0f} KB"),
        *((f"in {name}", str(number)) for name, number in sorted(stats.categories.items())),
        *(
            (f"said by {provenance.name.lower()}", str(number))
            for provenance, number in sorted(stats.provenances.items(), reverse=True)
        ),
    ]
    return [*rows, *stats.details.items()]


def stats_json(stats: MemoryStats) -> dict[str, object]:
    return {
        "backend": stats.backend,
        "count": stats.count,
        "superseded": stats.superseded,
        "pinned": stats.pinned,
        "size_bytes": stats.size_bytes,
        "categories": dict(stats.categories),
        "provenances": {one.name.lower(): number for one, number in stats.provenances.items()},
        "details": dict(stats.details),
    }


def as_json(entry: MemoryEntry) -> dict[str, object]:
    """Every field, with the times as ISO 8601."""
    return {
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "provenance": entry.provenance.name.lower(),
        "person": entry.scope.person,
        "session": entry.scope.session,
        "group": entry.scope.group,
        "device": entry.scope.device,
        "source": entry.source,
        "importance": entry.importance,
        "pinned": entry.pinned,
        "created": _moment(entry.created_at_s),
        "updated": _moment(entry.updated_at_s),
        "until": None if entry.until_s is None else _moment(entry.until_s),
        "score": entry.score,
    }


def markdown(person: str, entries: Sequence[MemoryEntry]) -> str:
    """A document with one section for each category, the newest memory first."""
    lines = [f"{EXPORT_TITLE} {printable_line(person, _MAX_KEY_CHARS)}"]
    ordered = sorted(entries, key=lambda entry: (entry.category, -entry.updated_at_s))
    for category, group in itertools.groupby(ordered, key=lambda entry: entry.category):
        lines += ["", f"## {printable_line(category, _MAX_KEY_CHARS)}", ""]
        lines += [_item(entry) for entry in group]
    return "\n".join(lines)


def _item(entry: MemoryEntry) -> str:
    key = printable_line(entry.key, _MAX_KEY_CHARS)
    # Indented, so that the lines of a memory stay one item
    content = printable_text(entry.content, _MAX_CONTENT_CHARS).replace("\n", "\n  ")
    source = f"{entry.provenance.name.lower()}, {day_of(entry.updated_at_s)}"
    return f"- **{key}**: {content} ({source})"


def _cut(text: str, most: int) -> str:
    """At most so many columns of a terminal; what is left out is three dots."""
    if _columns(text) <= most:
        return text
    kept, width = "", 1
    for char in text:
        width += _columns(char)
        if width > most:
            break
        kept += char
    return f"{kept}…"


def _columns(text: str) -> int:
    """Return the width in a terminal: Han and its like take two columns, marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def day_of(wall_s: float) -> str:
    """Return the day where this machine is, as the agent tells it and as people name it."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return NO_DAY


def _moment(wall_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return NO_DAY
