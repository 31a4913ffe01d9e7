"""Snapshots in ZeroClaw's format, for import and export.

The format keeps the lasting facts alone, by key, content and two times. An entry ends only where
its line of times stands before a rule and the next heading, so that contents which look like
parts of the format stay contents.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from agent.memory.base import CORE, MemoryEntry, Scope
from agent.messages import Provenance

TITLE = "# 🧠 ZeroClaw Memory Snapshot"
SOURCE = "zeroclaw"
_HEADING = "### 🔑 `"
_END = re.compile(
    r"\n\n\*Created: ([^\n|]*) \| Updated: ([^\n]*)\*\n+---\n*(?=### 🔑 `|\Z)", re.ASCII
)
_LATEST_S = 253_402_300_799.0


def parse(text: str, scope: Scope, provenance: Provenance) -> Iterator[MemoryEntry | None]:
    """Yield the memories, all of one owner; None for each unreadable one."""
    # Only a file that was saved with such line ends throughout: a content may hold one of its own
    if text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    # What comes before the first heading is about the file
    start = 0 if text.startswith(_HEADING) else text.find(f"\n{_HEADING}") + 1
    if not start and not text.startswith(_HEADING):
        return
    for end in _END.finditer(text):
        if end.start() < start:
            continue
        yield _entry(text[start : end.start()], end, scope, provenance)
        start = end.end()
    if text[start:].strip():
        yield None


def render(entries: Iterable[MemoryEntry], exported_at_s: float) -> str:
    """Return the visible lasting facts as text, newest first."""
    facts = [one for one in entries if one.category == CORE and one.superseded_by is None]
    facts.sort(key=lambda entry: (-entry.updated_at_s, entry.memory_id))
    head = (
        f"{TITLE}\n\n> Written by Barnacle for ZeroClaw.\n\n"
        f"**Last exported:** {_moment(exported_at_s)}\n"
        f"**Total core memories:** {len(facts)}\n\n---\n\n"
    )
    return head + "".join(map(_rendered, facts))


def _rendered(entry: MemoryEntry) -> str:
    # A key is one line there
    key = " ".join(entry.key.split()) or "memory"
    times = f"*Created: {_moment(entry.created_at_s)} | Updated: {_moment(entry.updated_at_s)}*"
    return f"{_HEADING}{key}`\n\n{entry.content}\n\n{times}\n\n---\n\n"


def _entry(
    block: str, times: re.Match[str], scope: Scope, provenance: Provenance
) -> MemoryEntry | None:
    heading, _, content = block.partition("\n\n")
    key = heading.removeprefix(_HEADING).removesuffix("`")
    if "\n" in heading or not heading.startswith(_HEADING) or not key:
        return None
    created_at_s, updated_at_s = (seconds(moment) for moment in times.groups())
    return MemoryEntry(
        0, key, content, CORE, provenance, scope, created_at_s, updated_at_s, source=SOURCE
    )


def seconds(moment: str) -> float:
    """Return the seconds; a time without a zone is local, an invalid one is 0."""
    try:
        return datetime.fromisoformat(moment.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _moment(wall_s: float) -> str:
    return datetime.fromtimestamp(min(_LATEST_S, max(0.0, wall_s)), UTC).isoformat()
