"""Inspection of `brain.db`: text, word index, vectors and snapshot, each held against the others.

A flipped bit in a text breaks no database. Its word index then says something else, and a snapshot
that this store wrote tells which of them is right. Every function runs inside a transaction of its
caller.
"""

import math
import sqlite3
import struct
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from agent.memory import rows
from agent.memory.base import CONVERSATION, CORE, DAILY, Inspection, MemoryEntry
from agent.memory.record import COLUMNS, NAMES, entry_of
from agent.messages import Provenance

# What may change while the time of the last change stays: nobody says a text again to pin it
_MARKS = ("importance", "pinned", "superseded_by", "score", "until_s")
_SAID = [name for name in MemoryEntry.__struct_fields__ if name not in _MARKS]
_CATEGORIES = frozenset({CORE, DAILY, CONVERSATION})
_PROVENANCES = frozenset(one.name.lower() for one in Provenance)
# Of 16-bit numbers, whose squares should add up to 1
_NUMBER_BYTES = 2
_LENGTH_TOLERANCE = 0.02


def mend_texts(db: sqlite3.Connection, kept: Sequence[MemoryEntry]) -> list[int]:
    """Restore texts that differ from the snapshot without having been changed; return their ids."""
    return [entry.memory_id for entry in kept if _is_damaged(db, entry) and _mended(db, entry)]


def inspect_page(db: sqlite3.Connection, after_id: int, sure: Collection[int]) -> Inspection:
    """Compare the next memories with their index and vectors, and mend those.

    Args:
        sure: ids whose text a snapshot confirms.
    """
    entries = rows.page(db, after_id)
    if not entries:
        return Inspection(words=_orphans(db), last_id=after_id)
    words, doubtful = 0, []
    for entry in entries:
        indexed = rows.indexed(db, entry.memory_id)
        if indexed == rows.words_of(db, entry):
            continue
        if indexed is None or entry.memory_id in sure:
            rows.index_again(db, entry)
            words += 1
        else:
            doubtful.append(entry.key)
    last_id = entries[-1].memory_id
    vectors = _mend_vectors(db, after_id, last_id)
    return Inspection(len(entries), 0, words, vectors, tuple(doubtful), last_id)


def confirmed(db: sqlite3.Connection, kept: Sequence[MemoryEntry]) -> list[int]:
    """Return the ids of those memories that are as the snapshot has them."""
    found = ((one.memory_id, _beside(db, one)) for one in kept)
    return [memory_id for memory_id, pair in found if pair is not None and not _differ(*pair)]


def _is_damaged(db: sqlite3.Connection, kept: MemoryEntry) -> bool:
    pair = _beside(db, kept)
    if pair is None or pair[0].updated_at_s != kept.updated_at_s or not _differ(*pair):
        return False
    indexed = rows.indexed(db, kept.memory_id)
    # Changed in earnest, by somebody whose clock stood still: index and text agree
    is_changed = indexed == rows.words_of(db, pair[0]) and indexed != rows.words_of(db, kept)
    return not is_changed


def _mended(db: sqlite3.Connection, kept: MemoryEntry) -> bool:
    pair = _beside(db, kept)
    assert pair is not None
    held, told = pair
    mended = replace(told, importance=held.importance, pinned=held.pinned)
    try:
        rows.overwrite(db, replace(mended, superseded_by=held.superseded_by))
    except sqlite3.IntegrityError:
        # Its key is another memory's by now
        return False
    return True


def _beside(db: sqlite3.Connection, kept: MemoryEntry) -> tuple[MemoryEntry, MemoryEntry] | None:
    """Return the memory as it is held, and as it should be by the snapshot; None if it is gone.

    It may outlive its conversation and be trusted more since: its text is as old as before. No
    flipped bit makes another of our words.
    """
    row = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id = ?",  # noqa: S608 - our own constant
        [kept.memory_id],
    ).fetchone()
    if row is None:
        return None
    held = entry_of(row)
    if held.category in _CATEGORIES:
        kept = replace(kept, category=held.category)
    if row[NAMES.index("provenance")] in _PROVENANCES:
        kept = replace(kept, provenance=held.provenance)
    return held, kept


def _differ(one: MemoryEntry, other: MemoryEntry) -> bool:
    return any(getattr(one, name) != getattr(other, name) for name in _SAID)


def _orphans(db: sqlite3.Connection) -> int:
    """Remove words of memories that are gone; return how many."""
    gone = db.execute("SELECT rowid FROM memory_words WHERE rowid NOT IN (SELECT id FROM memories)")
    ids = [row[0] for row in gone]
    db.executemany("DELETE FROM memory_words WHERE rowid = ?", [[one] for one in ids])
    return len(ids)


def _mend_vectors(db: sqlite3.Connection, after_id: int, last_id: int) -> int:
    """Remove vectors that no model has made; return how many."""
    stored = db.execute(
        "SELECT memory_id, vector FROM memory_vectors WHERE memory_id > ? AND memory_id <= ?",
        [after_id, last_id],
    )
    damaged = [memory_id for memory_id, vector in stored if not _is_unit(vector)]
    db.executemany("DELETE FROM memory_vectors WHERE memory_id = ?", [[one] for one in damaged])
    return len(damaged)


def _is_unit(vector: object) -> bool:
    if not isinstance(vector, bytes) or not vector or len(vector) % _NUMBER_BYTES:
        return False
    numbers = struct.unpack(f"<{len(vector) // _NUMBER_BYTES}e", vector)
    squares = sum(number * number for number in numbers)
    return math.isfinite(squares) and abs(math.sqrt(squares) - 1) <= _LENGTH_TOLERANCE
