"""Memories as rows of `brain.db`; every function runs inside a transaction of its caller.

The word index is kept in step here, in the same transaction. A person's memories are their own
and everybody's (those without a person), never another person's.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.memory.base import MemoryEntry, Scope
from agent.memory.keys import searched_text
from agent.memory.text import tokens
from agent.messages import Provenance

# Every column of a memory, as it is
Row = tuple[int, str | None, str | None, str, str, str, str, float, float, float, int, int | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not stored yet."""

    key: str
    content: str
    category: str
    scope: Scope
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory whose vector is missing or of another model."""

    memory_id: int
    person: str | None
    content: str
    text: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that is gone, and how many come back that it had superseded."""

    memory_id: int
    revived: int


def put(db: sqlite3.Connection, draft: Draft, now_s: float) -> MemoryEntry:
    """Insert or replace by person and key; the row of a replaced memory keeps its id."""
    (memory_id,) = db.execute(
        "INSERT INTO memories"
        " (person, session, key, content, category, provenance, created_at_s, updated_at_s)"
        " VALUES (:person, :session, :key, :content, :category, :provenance, :now, :now)"
        " ON CONFLICT (ifnull(person, x''), key) DO UPDATE SET"
        " session = excluded.session, content = excluded.content, category = excluded.category,"
        " provenance = excluded.provenance, updated_at_s = excluded.updated_at_s,"
        " superseded_by = NULL RETURNING id",
        {
            "person": draft.scope.person,
            "session": draft.scope.session,
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "provenance": draft.provenance.name.lower(),
            "now": now_s,
        },
    ).fetchone()
    _unindex(db, memory_id)
    _index(db, memory_id, draft.key, draft.content)
    # The old content's vector says nothing of the new one
    db.execute("DELETE FROM memory_vectors WHERE memory_id = ?", [memory_id])
    return by_id(db, [memory_id], draft.scope.person)[memory_id]


def get(db: sqlite3.Connection, key: str, scope: Scope) -> MemoryEntry | None:
    """The person's own memory of that key, else everybody's."""
    row = db.execute(
        "SELECT * FROM entries"
        " WHERE ifnull(person, x'') IN (ifnull(:person, x''), x'') AND key = :key"
        " ORDER BY person IS NULL LIMIT 1",
        {"key": key, "person": scope.person},
    ).fetchone()
    return None if row is None else _entry(row)


def newest(
    db: sqlite3.Connection, scope: Scope, category: str | None, limit: int
) -> list[MemoryEntry]:
    """Newest first; a session or a category narrows where it is given."""
    rows = db.execute(
        "SELECT * FROM entries WHERE (person IS NULL OR person = :person)"
        " AND (:session IS NULL OR session = :session)"
        " AND (:category IS NULL OR category = :category)"
        " ORDER BY updated_at_s DESC, id DESC LIMIT :limit",
        {
            "person": scope.person,
            "session": scope.session,
            "category": category,
            "limit": max(0, limit),
        },
    )
    return [_entry(row) for row in rows]


def by_id(
    db: sqlite3.Connection, memory_ids: Iterable[int], person: str | None
) -> dict[int, MemoryEntry]:
    """Those among these memories that the person may see."""
    rows = db.execute(
        "SELECT * FROM entries WHERE id IN (SELECT value FROM json_each(?))"
        " AND (person IS NULL OR person = ?)",
        [json.dumps(list(memory_ids)), person],
    )
    return {row[0]: _entry(row) for row in rows}


def forget(db: sqlite3.Connection, key: str, scope: Scope) -> Forgotten | None:
    """Delete the person's own memory of that key; None when there was none."""
    row = db.execute(
        "SELECT id FROM memories WHERE ifnull(person, x'') = ifnull(:person, x'') AND key = :key",
        {"person": scope.person, "key": key},
    ).fetchone()
    if row is None:
        return None
    revived = db.execute("UPDATE memories SET superseded_by = NULL WHERE superseded_by = ?", row)
    db.execute("DELETE FROM memories WHERE id = ?", row)
    _unindex(db, row[0])
    return Forgotten(row[0], revived.rowcount)


def count(db: sqlite3.Connection, scope: Scope | None) -> int:
    """Memories that the person can recall; with no scope, everybody's together."""
    if scope is None:
        (number,) = db.execute("SELECT count(*) FROM entries").fetchone()
    else:
        (number,) = db.execute(
            "SELECT count(*) FROM entries WHERE person IS NULL OR person = ?", [scope.person]
        ).fetchone()
    return int(number)


def unembedded(db: sqlite3.Connection, model: str, limit: int) -> Sequence[Unembedded]:
    """Memories that have no vector of this model, the newest first."""
    rows = db.execute(
        "SELECT entries.id, entries.person, entries.key, entries.content FROM entries"
        " LEFT JOIN memory_vectors AS v ON v.memory_id = entries.id"
        " WHERE v.model IS NOT ? ORDER BY entries.id DESC LIMIT ?",
        [model, limit],
    )
    return [
        Unembedded(memory_id, person, content, searched_text(key, content))
        for memory_id, person, key, content in rows
    ]


def put_vector(db: sqlite3.Connection, memory_id: int, model: str, vector: bytes) -> None:
    db.execute(
        "INSERT OR REPLACE INTO memory_vectors (memory_id, model, vector) VALUES (?, ?, ?)",
        [memory_id, model, vector],
    )


def still_holds(db: sqlite3.Connection, row: Unembedded) -> bool:
    """Whether the memory is there and says what it said."""
    found = db.execute(
        "SELECT 1 FROM memories WHERE id = ? AND content = ?", [row.memory_id, row.content]
    )
    return found.fetchone() is not None


def readable(db: sqlite3.Connection) -> list[Row]:
    """Every memory up to the first that cannot be read."""
    saved: list[Row] = []
    try:
        saved.extend(
            db.execute(
                "SELECT id, person, session, key, content, category, provenance, created_at_s,"
                " updated_at_s, importance, pinned, superseded_by FROM memories NOT INDEXED"
            )
        )
    except sqlite3.DatabaseError:
        # What was read so far is better than nothing
        return saved
    return saved


def restore(db: sqlite3.Connection, saved: Sequence[Row]) -> None:
    """Put saved memories into an empty database; their vectors are made again."""
    db.execute("PRAGMA defer_foreign_keys = ON")
    for row in saved:
        db.execute("INSERT OR IGNORE INTO memories VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row)
        memory_id, _, _, key, content, *_ = row
        _index(db, int(memory_id), str(key), str(content))
    db.execute(
        "UPDATE memories SET superseded_by = NULL"
        " WHERE superseded_by NOT IN (SELECT id FROM memories)"
    )


def _index(db: sqlite3.Connection, memory_id: int, key: str, content: str) -> None:
    db.execute(
        "INSERT INTO memory_words (rowid, words) VALUES (?, ?)",
        [memory_id, " ".join(tokens(searched_text(key, content)))],
    )


def _unindex(db: sqlite3.Connection, memory_id: int) -> None:
    db.execute("DELETE FROM memory_words WHERE rowid = ?", [memory_id])


def _entry(row: Sequence[object]) -> MemoryEntry:
    memory_id, key, content, category, provenance, person, session, created, updated = row
    assert isinstance(memory_id, int)
    assert isinstance(created, float)
    assert isinstance(updated, float)
    return MemoryEntry(
        memory_id,
        str(key),
        str(content),
        str(category),
        _provenance(str(provenance)),
        Scope(None if person is None else str(person), None if session is None else str(session)),
        created,
        updated,
    )


def _provenance(name: str) -> Provenance:
    """An unknown source is trusted least."""
    return Provenance.__members__.get(name.upper(), Provenance.WEB)
