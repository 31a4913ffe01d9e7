"""A memory as a row, as JSON and as Markdown."""

import itertools
import time
from collections.abc import Sequence

from agent.memory.base import MemoryEntry
from agent.printable import printable_line, printable_text

# A key is a few words; more is a mistake of whoever chose it
_MAX_KEY_CHARS = 100
# As long as the longest thing that is remembered
_MAX_CONTENT_CHARS = 1_000_000


def row(entry: MemoryEntry) -> tuple[str, ...]:
    return (
        _day(entry.updated_at_s),
        entry.category,
        entry.provenance.name.lower(),
        entry.key,
        entry.content,
    )


def as_json(entry: MemoryEntry) -> dict[str, object]:
    """Every field, with the times as ISO 8601."""
    return {
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "provenance": entry.provenance.name.lower(),
        "person": entry.scope.person,
        "session": entry.scope.session,
        "created": _moment(entry.created_at_s),
        "updated": _moment(entry.updated_at_s),
        "score": entry.score,
    }


def markdown(person: str, entries: Sequence[MemoryEntry]) -> str:
    """A document with one section for each category, the newest memory first."""
    lines = [f"# What Barnacle remembers of {printable_line(person, _MAX_KEY_CHARS)}"]
    ordered = sorted(entries, key=lambda entry: (entry.category, -entry.updated_at_s))
    for category, group in itertools.groupby(ordered, key=lambda entry: entry.category):
        lines += ["", f"## {printable_line(category, _MAX_KEY_CHARS)}", ""]
        lines += [_item(entry) for entry in group]
    return "\n".join(lines)


def _item(entry: MemoryEntry) -> str:
    key = printable_line(entry.key, _MAX_KEY_CHARS)
    # Indented, so that the lines of a memory stay one item
    content = printable_text(entry.content, _MAX_CONTENT_CHARS).replace("\n", "\n  ")
    source = f"{entry.provenance.name.lower()}, {_day(entry.updated_at_s)}"
    return f"- **{key}**: {content} ({source})"


def _day(wall_s: float) -> str:
    return _moment(wall_s)[:10]


def _moment(wall_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return "unknown"
