"""Rows of `brain.db`; every function runs inside a transaction of its caller.

The word index is kept in step here, in the same transaction. What a scope sees is decided by
`Scope.owners`, here as everywhere.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.keys import key_of, searched_text
from agent.memory.record import COLUMNS, NAMES, PLACES, entry_of, row_of
from agent.memory.text import HUNG_LETTERS, tokens
from agent.messages import Provenance

# Entries that are read at a time when all of them are
PAGE_ROWS = 500
_LAST_ID = 2**63 - 1
_SEEN = "owner IN (SELECT value FROM json_each(:owners))"


class MemoryDraft(Struct, frozen=True):
    """A memory that is not stored yet."""

    key: str
    content: str
    category: str
    scope: Scope
    provenance: Provenance
    source: str = ""


class Unembedded(Struct, frozen=True):
    """A memory whose vector is missing or of another model."""

    memory_id: int
    owner: str
    content: str
    text: str


def put(db: sqlite3.Connection, draft: MemoryDraft, now_s: float) -> MemoryEntry:
    """Insert or replace by owner and key; the row of a replaced memory keeps its id.

    What somebody more trusted said stays: as it is where the same was said again, else hidden.
    """
    before = held(db, draft.scope.owner, draft.key)
    is_below = before is not None and draft.provenance < before.provenance
    if before is not None and is_below and key_of(before.content) == key_of(draft.content):
        return before
    new = MemoryEntry(
        0, draft.key, draft.content, draft.category, draft.provenance, draft.scope, now_s, now_s
    )
    (memory_id,) = db.execute(
        "INSERT INTO memories (key, content, category, provenance, person, session, group_id,"
        " device, created_at_s, updated_at_s, source)"
        " VALUES (:key, :content, :category, :provenance, :person, :session, :group_id,"
        " :device, :created_at_s, :updated_at_s, :source)"
        " ON CONFLICT (owner, key) DO UPDATE SET"
        " session = excluded.session, group_id = excluded.group_id, device = excluded.device,"
        " content = excluded.content, category = excluded.category, source = excluded.source,"
        " provenance = excluded.provenance, updated_at_s = excluded.updated_at_s,"
        # What somebody else said now is not what was pinned
        " pinned = pinned AND provenance = excluded.provenance,"
        " superseded_by = NULL RETURNING id",
        row_of(replace(new, source=draft.source)),
    ).fetchone()
    if before is not None and is_below:
        hidden_key = f"{draft.key} (until {now_s:.0f})"
        restore(db, replace(before, memory_id=0, key=hidden_key, superseded_by=memory_id))
    return _reindexed(db, memory_id)


def restore(db: sqlite3.Connection, entry: MemoryEntry) -> MemoryEntry:
    """Restore a memory with every field; replace the same key, and change a taken id."""
    row = row_of(entry)
    holder = db.execute(
        "SELECT owner, key FROM memories WHERE id = ?", [entry.memory_id]
    ).fetchone()
    if entry.memory_id <= 0 or holder not in {None, (entry.scope.owner, entry.key)}:
        row["id"] = None
    row["superseded_by"] = None
    replaced = held(db, entry.scope.owner, entry.key)
    hidden = {} if replaced is None else _hidden_by(db, replaced.memory_id)
    if replaced is not None:
        delete(db, replaced.memory_id)
    (memory_id,) = db.execute(
        f"INSERT INTO memories ({COLUMNS}) VALUES ({PLACES}) RETURNING id",  # noqa: S608 - constants
        row,
    ).fetchone()
    for other in hidden:
        hide(db, other, memory_id)
    if entry.superseded_by is not None:
        hide(db, memory_id, entry.superseded_by)
    return _reindexed(db, memory_id)


def held(db: sqlite3.Connection, owner: str, key: str) -> MemoryEntry | None:
    """Return the owner's memory of that key, hidden or not."""
    row = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE owner = ? AND key = ?",  # noqa: S608 - constants
        [owner, key],
    ).fetchone()
    return None if row is None else entry_of(row)


def hide(db: sqlite3.Connection, memory_id: int, by: int) -> None:
    """Supersede a memory by another, if that one exists."""
    db.execute(
        "UPDATE memories SET superseded_by = :by WHERE id = :id AND id != :by"
        " AND EXISTS (SELECT 1 FROM memories WHERE id = :by)",
        {"id": memory_id, "by": by},
    )
    _refresh(db, by)


def reveal(db: sqlite3.Connection, memory_id: int, hidden_by: int) -> None:
    """Undo a supersession; what had hidden the memory loses its words."""
    db.execute("UPDATE memories SET superseded_by = NULL WHERE id = ?", [memory_id])
    _refresh(db, hidden_by)


def get(db: sqlite3.Connection, key: str, scope: Scope) -> MemoryEntry | None:
    """Return the closest owner's memory of that key."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM entries WHERE {_SEEN} AND key = :key",  # noqa: S608 - constants
        {"key": key, "owners": json.dumps(scope.owners)},
    )
    found = {entry.scope.owner: entry for entry in map(entry_of, rows)}
    return next((found[owner] for owner in scope.owners if owner in found), None)


def newest(
    db: sqlite3.Connection, scope: Scope, category: str | None = None, limit: int = PAGE_ROWS
) -> list[MemoryEntry]:
    """Return memories, newest first, filtered by session and category if given."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM entries WHERE {_SEEN}"  # noqa: S608 - our own constants
        " AND (:session IS NULL OR session = :session)"
        " AND (:category IS NULL OR category = :category)"
        " ORDER BY updated_at_s DESC, id DESC LIMIT :limit",
        {
            "owners": json.dumps(scope.owners),
            "session": scope.session,
            "category": category,
            "limit": max(0, limit),
        },
    )
    return [entry_of(row) for row in rows]


def pinned(db: sqlite3.Connection, scope: Scope) -> list[MemoryEntry]:
    """Return pinned memories, newest first."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM entries WHERE {_SEEN} AND pinned"  # noqa: S608 - our own constants
        " ORDER BY created_at_s DESC, id DESC LIMIT :limit",
        {"owners": json.dumps(scope.owners), "limit": PAGE_ROWS},
    )
    return [entry_of(row) for row in rows]


def by_id(
    db: sqlite3.Connection, memory_ids: Iterable[int], scope: Scope
) -> dict[int, MemoryEntry]:
    """Return those of these memories that the scope may see."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM entries WHERE {_SEEN}"  # noqa: S608 - our own constants
        " AND id IN (SELECT value FROM json_each(:ids))",
        {"owners": json.dumps(scope.owners), "ids": json.dumps(list(memory_ids))},
    )
    return {entry.memory_id: entry for entry in map(entry_of, rows)}


def page(db: sqlite3.Connection, after_id: int) -> list[MemoryEntry]:
    """Return the next memories by id, superseded ones too."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memories"  # noqa: S608 - our own constants
        " WHERE id > ? ORDER BY id LIMIT ?",
        [after_id, PAGE_ROWS],
    )
    return [entry_of(row) for row in rows]


def delete(db: sqlite3.Connection, memory_id: int) -> None:
    """Delete a memory; what it had hidden becomes visible, or is hidden by what had hidden it."""
    row = db.execute("SELECT superseded_by FROM memories WHERE id = ?", [memory_id]).fetchone()
    by = None if row is None else row[0]
    if by is not None:
        # Of three truths the first is none again because the second goes
        db.execute(
            "UPDATE memories SET superseded_by = :by WHERE superseded_by = :id AND id != :by",
            {"by": by, "id": memory_id},
        )
    db.execute("DELETE FROM memories WHERE id = ?", [memory_id])
    _unindex(db, memory_id)
    if by is not None:
        _refresh(db, by)


def count(db: sqlite3.Connection, scope: Scope | None) -> int:
    """Count the memories that the scope can recall; without a scope, all."""
    if scope is None:
        (number,) = db.execute("SELECT count(*) FROM entries").fetchone()
    else:
        (number,) = db.execute(
            f"SELECT count(*) FROM entries WHERE {_SEEN}",  # noqa: S608 - our own constant
            {"owners": json.dumps(scope.owners)},
        ).fetchone()
    return int(number)


def are_more(db: sqlite3.Connection, number: int) -> bool:
    """Return true if there are more memories than that, without counting all of them."""
    (highest,) = db.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()
    if highest <= number:
        return False
    found = db.execute("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT ?)", [number + 1])
    (some,) = found.fetchone()
    return bool(some > number)


def unembedded(db: sqlite3.Connection, model: str, limit: int) -> Sequence[Unembedded]:
    """Return memories without a vector of this model, newest first."""
    rows = db.execute(
        "SELECT entries.id, entries.owner, entries.key, entries.content FROM entries"
        " LEFT JOIN memory_vectors AS v ON v.memory_id = entries.id"
        " WHERE v.model IS NOT ? ORDER BY entries.id DESC LIMIT ?",
        [model, limit],
    )
    return [
        Unembedded(memory_id, owner, content, searched_text(key, content))
        for memory_id, owner, key, content in rows
    ]


def count_unembedded(db: sqlite3.Connection, model: str) -> int:
    """Return the number of memories without a vector of this model."""
    (number,) = db.execute(
        "SELECT count(*) FROM entries LEFT JOIN memory_vectors AS v ON v.memory_id = entries.id"
        " WHERE v.model IS NOT ?",
        [model],
    ).fetchone()
    return int(number)


def put_vector(
    db: sqlite3.Connection,
    memory_id: int,
    model: str,
    vector: bytes,
    tokens: bytes | None = None,
) -> None:
    db.execute(
        "INSERT OR REPLACE INTO memory_vectors (memory_id, model, vector, tokens)"
        " VALUES (?, ?, ?, ?)",
        [memory_id, model, vector, tokens],
    )


def tokens_of(db: sqlite3.Connection, memory_ids: Iterable[int], model: str) -> dict[int, bytes]:
    """Return this model's token vectors of these memories."""
    found = db.execute(
        "SELECT memory_id, tokens FROM memory_vectors WHERE model = ? AND tokens IS NOT NULL"
        " AND memory_id IN (SELECT value FROM json_each(?))",
        [model, json.dumps(list(memory_ids))],
    )
    return dict(found.fetchall())


def still_holds(db: sqlite3.Connection, row: Unembedded) -> bool:
    """Return true if the memory is still there with the same content."""
    found = db.execute(
        "SELECT 1 FROM memories WHERE id = ? AND content = ?", [row.memory_id, row.content]
    )
    return found.fetchone() is not None


def rebuild(db: sqlite3.Connection, after_id: int) -> list[int]:
    """Make the words of the next memories again and drop their vectors; return their ids."""
    entries = page(db, after_id)
    last_id = entries[-1].memory_id if entries else _LAST_ID
    db.execute("DELETE FROM memory_words WHERE rowid > ? AND rowid <= ?", [after_id, last_id])
    db.execute(
        "DELETE FROM memory_vectors WHERE memory_id > ? AND memory_id <= ?", [after_id, last_id]
    )
    for entry in entries:
        _index(db, entry.memory_id, entry.key, entry.content)
    return [entry.memory_id for entry in entries]


def indexed(db: sqlite3.Connection, memory_id: int) -> str | None:
    """Return the words that the index has of a memory."""
    row = db.execute("SELECT words FROM memory_words WHERE rowid = ?", [memory_id]).fetchone()
    return None if row is None else str(row[0])


def words_of(db: sqlite3.Connection, entry: MemoryEntry) -> str:
    """Return the words that the index should have of a memory."""
    return _words(db, entry.memory_id, entry.key, entry.content)


def index_again(db: sqlite3.Connection, entry: MemoryEntry) -> None:
    _refresh(db, entry.memory_id)


def overwrite(db: sqlite3.Connection, entry: MemoryEntry) -> None:
    """Set every field of the memory with this id.

    Raises:
        sqlite3.IntegrityError: its key is another memory's.
    """
    values = ", ".join(f"{name} = :{name}" for name in NAMES if name != "id")
    db.execute(f"UPDATE memories SET {values} WHERE id = :id", row_of(entry))  # noqa: S608 - ours
    _reindexed(db, entry.memory_id)


def _hidden_by(db: sqlite3.Connection, memory_id: int) -> dict[int, str]:
    found = db.execute("SELECT id, content FROM memories WHERE superseded_by = ?", [memory_id])
    return dict(found.fetchall())


def _reindexed(db: sqlite3.Connection, memory_id: int) -> MemoryEntry:
    """Return the memory as it is now, after indexing its words and removing its old vector."""
    row = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id = ?",  # noqa: S608 - our own constant
        [memory_id],
    ).fetchone()
    entry = entry_of(row)
    _unindex(db, memory_id)
    _index(db, memory_id, entry.key, entry.content)
    # The old content's vector says nothing of the new one
    db.execute("DELETE FROM memory_vectors WHERE memory_id = ?", [memory_id])
    return entry


def _refresh(db: sqlite3.Connection, memory_id: int) -> None:
    """Index a memory again whose hidden ones have changed."""
    row = db.execute("SELECT key, content FROM memories WHERE id = ?", [memory_id]).fetchone()
    if row is not None:
        _unindex(db, memory_id)
        _index(db, memory_id, *row)


def _index(db: sqlite3.Connection, memory_id: int, key: str, content: str) -> None:
    db.execute(
        "INSERT INTO memory_words (rowid, words) VALUES (?, ?)",
        [memory_id, _words(db, memory_id, key, content)],
    )


def _words(db: sqlite3.Connection, memory_id: int, key: str, content: str) -> str:
    """Return a memory's words, and those of what it contradicted: both answer one question."""
    texts = [searched_text(key, content)]
    if hidden := _hidden_by(db, memory_id):
        from agent.memory.statement import contradicts  # noqa: PLC0415 - few hide anything

        texts += [other for other in hidden.values() if contradicts(content, other)]
    return " ".join(token for text in texts for token in tokens(text))


def split_again(db: sqlite3.Connection) -> None:
    """Split what earlier versions took for one word: tokens of tokens are tokens."""
    found = db.execute(
        "SELECT rowid, words FROM memory_words WHERE words GLOB ?", [f"*{HUNG_LETTERS}*"]
    )
    split = [(" ".join(tokens(words)), memory_id) for memory_id, words in found]
    db.executemany("UPDATE memory_words SET words = ? WHERE rowid = ?", split)


def _unindex(db: sqlite3.Connection, memory_id: int) -> None:
    db.execute("DELETE FROM memory_words WHERE rowid = ?", [memory_id])
