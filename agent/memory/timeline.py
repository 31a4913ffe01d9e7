"""Timeline of a thing in `brain.db`: all that names it, what is no longer so too."""

import json
import sqlite3
from dataclasses import replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.record import COLUMNS, entry_of
from agent.memory.statement import contradicts
from agent.memory.text import asked_tokens
from agent.memory.words import quoted

# The newest of them: the story of one thing, as far as anybody reads it
MOST = 200
_MOST_TOKENS = 8

_NAMING = f"""
SELECT {COLUMNS} FROM memories
WHERE owner IN (SELECT value FROM json_each(?))
    AND id IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?)
ORDER BY created_at_s DESC, id DESC LIMIT ?
"""  # noqa: S608 - our own constants


def about(db: sqlite3.Connection, thing: str, scope: Scope) -> list[MemoryEntry]:
    """Return the memories with every word of the thing, oldest first, with their ends."""
    asked = asked_tokens(thing, _MOST_TOKENS)
    if not asked:
        return []
    words = " AND ".join(map(quoted, asked))
    found = db.execute(_NAMING, [json.dumps(scope.owners), words, MOST])
    told = [_ended(db, entry_of(row)) for row in found]
    return [entry for entry in reversed(told) if entry is not None]


def _ended(db: sqlite3.Connection, entry: MemoryEntry) -> MemoryEntry | None:
    """Return the memory with its end; None for what only repeats another one."""
    if entry.superseded_by is None:
        return entry
    row = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id = ?",  # noqa: S608 - our own constants
        [entry.superseded_by],
    ).fetchone()
    if row is None:
        return entry
    later = entry_of(row)
    if not contradicts(later.content, entry.content):
        return None
    return replace(entry, until_s=later.created_at_s)
