"""Salvage of memories from a damaged `brain.db`: everything that can still be read and believed."""

import sqlite3
from collections.abc import Iterable, Iterator

from agent.memory import rows
from agent.memory.base import EVERYBODYS, MemoryEntry
from agent.memory.record import COLUMNS, entry_of

# Ids that are looked up one by one where a damaged database cannot be read in order
MAX_GAP = 100_000
# More rows than damaged pages beside each other hold: then the whole table is unreadable
MAX_FAILED = 500


def readable(db: sqlite3.Connection) -> list[MemoryEntry]:
    """Return every memory that can be read: from both ends, then one by one between them."""
    front: dict[int, MemoryEntry] = {}
    if _read_towards(db, "ASC", front):
        return [entry for entry in front.values() if _is_believed(db, entry)]
    back: dict[int, MemoryEntry] = {}
    _read_towards(db, "DESC", back)
    first = max(front, default=0) + 1
    between = range(first, min(min(back, default=first + MAX_GAP), first + MAX_GAP))
    found = front | back | {one.memory_id: one for one in _read_each(db, between)}
    return [found[memory_id] for memory_id in sorted(found) if _is_believed(db, found[memory_id])]


def _read_towards(db: sqlite3.Connection, way: str, found: dict[int, MemoryEntry]) -> bool:
    """Read into `found` until something is unreadable; return true if nothing was."""
    ordered = f"SELECT {COLUMNS} FROM memories NOT INDEXED ORDER BY id {way}"  # noqa: S608 - ours
    try:
        for row in db.execute(ordered):
            entry = entry_of(row)
            found.setdefault(entry.memory_id, entry)
    except (sqlite3.DatabaseError, ValueError, OverflowError):
        return False
    return True


def _read_each(db: sqlite3.Connection, ids: Iterable[int]) -> Iterator[MemoryEntry]:
    """Yield those of these memories that can be read, until nothing seems to be left."""
    failed = 0
    for memory_id in ids:
        try:
            row = db.execute(
                f"SELECT {COLUMNS} FROM memories NOT INDEXED WHERE id = ?",  # noqa: S608 - ours
                [memory_id],
            ).fetchone()
            if row is not None:
                yield entry_of(row)
                failed = 0
        except (sqlite3.DatabaseError, ValueError, OverflowError):
            failed += 1
            if failed == MAX_FAILED:
                return


def _is_believed(db: sqlite3.Connection, entry: MemoryEntry) -> bool:
    """Return false if a memory lost its owner by damage, which would give it to everybody."""
    if entry.scope.owner != EVERYBODYS:
        return True
    try:
        known = (rows.indexed(db, entry.memory_id) or "").split()
        return set(rows.words_of(db, entry).split()) <= set(known)
    except (sqlite3.DatabaseError, ValueError):
        return False
