"""Forgetting in `brain.db`: a memory goes with all that says the same.

Its duplicates, the messages that a drawn fact came from, and the facts drawn from a message. Every
function runs inside a transaction of its caller.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from agent.memory import rows
from agent.memory.base import CONVERSATION, FROM_CHAT, MemoryEntry, Scope
from agent.memory.keys import key_of
from agent.memory.record import COLUMNS, entry_of
from agent.memory.text import asked_tokens
from agent.memory.tombstones import Tombstones
from agent.memory.words import quoted

# A fact of one word is in too many messages
LEAST_TOKENS = 2
MOST_TOKENS = 32
# Facts drawn from one conversation that are compared with a forgotten message
MOST_FACTS = 5000


def doomed(db: sqlite3.Connection, key: str, scope: Scope) -> list[MemoryEntry]:
    """Return the owner's memory of that key, first, and what is forgotten with it."""
    entry = rows.held(db, scope.owner, key)
    if entry is None:
        return []
    found = {entry.memory_id: entry}
    for other in (*_duplicates(db, entry), *_kin(db, entry)):
        found.setdefault(other.memory_id, other)
    for one in list(found.values()):
        for other in _groups_own(db, one):
            found.setdefault(other.memory_id, other)
    return list(found.values())


def from_source(db: sqlite3.Connection, source: str, scope: Scope) -> list[MemoryEntry]:
    """Return everything of the owner from that source, hidden or not."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE source = ? AND owner = ?",  # noqa: S608 - constants
        [source, scope.owner],
    )
    return [entry_of(row) for row in found]


def bury(db: sqlite3.Connection, entries: Sequence[MemoryEntry]) -> int:
    """Delete these memories; return how many others come back that they had hidden."""
    ids = {entry.memory_id for entry in entries}
    revived = 0
    for memory_id in ids:
        hidden = db.execute("SELECT id FROM memories WHERE superseded_by = ?", [memory_id])
        others = [one for (one,) in hidden.fetchall() if one not in ids]
        rows.delete(db, memory_id)
        revived += sum(_is_visible(db, one) for one in others)
    return revived


def _is_visible(db: sqlite3.Connection, memory_id: int) -> bool:
    found = db.execute("SELECT 1 FROM entries WHERE id = ?", [memory_id])
    return found.fetchone() is not None


def bury_dead(db: sqlite3.Connection, tombstones: Tombstones) -> int:
    """Delete what was noted as forgotten and is still there; return how many."""
    last_id, dead = 0, 0
    while page := rows.page(db, last_id):
        found = [entry for entry in page if tombstones.is_dead(entry)]
        bury(db, found)
        dead += len(found)
        last_id = page[-1].memory_id
    return dead


def _duplicates(db: sqlite3.Connection, entry: MemoryEntry) -> Iterable[MemoryEntry]:
    hidden = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE superseded_by = ?",  # noqa: S608 - constants
        [entry.memory_id],
    )
    same = key_of(entry.content)
    return [one for one in map(entry_of, hidden) if key_of(one.content) == same]


def _kin(db: sqlite3.Connection, entry: MemoryEntry) -> Iterable[MemoryEntry]:
    """Return the messages of a drawn fact, or the facts drawn from a message."""
    if entry.category == CONVERSATION:
        said = set(asked_tokens(entry.content, len(entry.content)))
        return [one for one in _drawn(db, entry) if says(said, one.content)]
    if not is_drawn(entry):
        return []
    told = asked_tokens(entry.content, MOST_TOKENS)
    if len(told) < LEAST_TOKENS:
        return []
    found = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE owner = ? AND category = ? AND id IN"  # noqa: S608
        " (SELECT rowid FROM memory_words WHERE memory_words MATCH ?)",
        [entry.scope.owner, CONVERSATION, " AND ".join(map(quoted, told))],
    )
    return [entry_of(row) for row in found]


def _groups_own(db: sqlite3.Connection, entry: MemoryEntry) -> Iterable[MemoryEntry]:
    """Return a group's memory of the same words, which the person said there."""
    if entry.scope.person is None or entry.scope.session is None:
        return []
    found = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE session = ? AND key = ?"  # noqa: S608 - constants
        " AND person IS NULL AND group_id IS NOT NULL",
        [entry.scope.session, entry.key],
    )
    return map(entry_of, found)


def _drawn(db: sqlite3.Connection, message: MemoryEntry) -> Iterable[MemoryEntry]:
    found = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE owner = ? AND category != ?"  # noqa: S608 - constants
        " AND source LIKE ? ORDER BY id DESC LIMIT ?",
        [message.scope.owner, CONVERSATION, f"{FROM_CHAT}#%", MOST_FACTS],
    )
    return map(entry_of, found)


def is_drawn(entry: MemoryEntry) -> bool:
    """Return true for a fact that a model drew from messages."""
    return entry.source.startswith(f"{FROM_CHAT}#")


def says(said: set[str], fact: str) -> bool:
    """Return true if these words of a message say the fact."""
    told = asked_tokens(fact, MOST_TOKENS)
    return len(told) >= LEAST_TOKENS and said.issuperset(told)
