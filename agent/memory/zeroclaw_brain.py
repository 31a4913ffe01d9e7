"""Memories in a SQLite file: ZeroClaw's `brain.db`, and one of ours.

Opened for reading alone. A file with other tables is refused whole.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from agent.errors import MemoryUnavailable
from agent.memory import salvage, zeroclaw
from agent.memory.base import CONVERSATION, CORE, DAILY, MAX_CONTENT_CHARS, MemoryEntry, Scope
from agent.messages import Provenance
from agent.storage.foreign import open_foreign

MAGIC = b"SQLite format 3\0"
# What a file of ours has besides, and what every file of ZeroClaw's has
_OURS = frozenset({"provenance", "person", "owner", "source"})
_THEIRS = frozenset({"key", "content", "category", "created_at", "updated_at"})
_CATEGORIES = frozenset({CORE, DAILY, CONVERSATION})


def parse(path: Path, scope: Scope, provenance: Provenance) -> Iterator[MemoryEntry | None]:
    """Return the memories; None for each that is too long or has no text.

    Raises:
        MemoryUnavailable: the file is damaged, or no memory of an agent that is known here.
    """
    try:
        with closing(open_foreign(path)) as db:
            columns = {row[1] for row in db.execute("PRAGMA table_xinfo(memories)")}
            if columns >= _OURS:
                return iter(salvage.readable(db))
            if columns >= _THEIRS:
                return iter(_entries(db, columns, scope, provenance))
    except sqlite3.Error as err:
        raise MemoryUnavailable(f"{path} cannot be read as a database: {err}") from err
    raise MemoryUnavailable(
        f"{path} is a database, but neither ours nor ZeroClaw's: it has no table of memories"
        " that is known here. Nothing was imported"
    )


def _entries(
    db: sqlite3.Connection, columns: set[str], scope: Scope, provenance: Provenance
) -> list[MemoryEntry | None]:
    # What they had replaced is not true any more, and a later version notes it
    where = " WHERE superseded_by IS NULL" if "superseded_by" in columns else ""
    found = db.execute(
        f"SELECT key, content, category, created_at, updated_at FROM memories{where} ORDER BY rowid"  # noqa: S608 - constants
    )
    return [_entry(row, scope, provenance) for row in found]


def _entry(row: Sequence[object], scope: Scope, provenance: Provenance) -> MemoryEntry | None:
    key, content, category, created_at, updated_at = row
    if not isinstance(content, str) or not content.strip() or len(content) > MAX_CONTENT_CHARS:
        return None
    return MemoryEntry(
        0,
        str(key),
        content,
        str(category) if category in _CATEGORIES else CORE,
        provenance,
        scope,
        zeroclaw.seconds(str(created_at)),
        zeroclaw.seconds(str(updated_at)),
        source=zeroclaw.SOURCE,
    )
