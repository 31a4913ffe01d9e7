"""Memories as rows of the shared brain; every function runs inside a transaction of its caller.

What an owner may see is what `Scope.owners` names, here as everywhere.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.keys import key_of, searched_text
from agent.memory.postgres import index
from agent.memory.postgres.record import (
    COLUMNS,
    entry_of,
    escaped,
    name_of,
    optional,
    owners_of,
    words_of,
)
from agent.messages import Provenance
from agent.storage.postgres.pipeline import Connection, Cursor

_SEEN = "owner = ANY(%(owners)s) AND superseded_by IS NULL"
_PUT = f"""
INSERT INTO memories (owner, person, people, device, session, key, content, category, provenance,
    source, created_at_s, updated_at_s, importance, words)
VALUES (%(owner)s, %(person)s, %(people)s, %(device)s, %(session)s, %(key)s, %(content)s,
    %(category)s, %(provenance)s, %(source)s, %(now_s)s, %(now_s)s, 0.5, %(words)s)
ON CONFLICT (owner, key) DO UPDATE SET session = excluded.session, content = excluded.content,
    category = excluded.category, provenance = excluded.provenance, source = excluded.source,
    people = excluded.people, device = excluded.device, words = excluded.words,
    updated_at_s = excluded.updated_at_s, superseded_by = NULL,
    -- What somebody else said now is not what was pinned
    pinned = memories.pinned AND memories.provenance = excluded.provenance
RETURNING {COLUMNS}
"""  # noqa: S608 - the names of our own columns
_RESTORE = f"""
INSERT INTO memories (id, owner, person, people, device, session, key, content, category,
    provenance, source, created_at_s, updated_at_s, importance, pinned, superseded_by, words)
VALUES (coalesce(
        (SELECT %(id)s::bigint WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = %(id)s)),
        nextval(pg_get_serial_sequence('memories', 'id'))),
    %(owner)s, %(person)s, %(people)s, %(device)s, %(session)s, %(key)s, %(content)s,
    %(category)s, %(provenance)s, %(source)s, %(created_at_s)s, %(updated_at_s)s,
    %(importance)s, %(pinned)s, (SELECT id FROM memories WHERE id = %(superseded_by)s), %(words)s)
ON CONFLICT (owner, key) DO UPDATE SET person = excluded.person, people = excluded.people,
    device = excluded.device, session = excluded.session, content = excluded.content,
    category = excluded.category, provenance = excluded.provenance, source = excluded.source,
    created_at_s = excluded.created_at_s, updated_at_s = excluded.updated_at_s,
    importance = excluded.importance, pinned = excluded.pinned,
    superseded_by = excluded.superseded_by, words = excluded.words
RETURNING {COLUMNS}
"""  # noqa: S608 - as above
# The next memory gets a number that none has
_ADVANCE = """
SELECT setval(pg_get_serial_sequence('memories', 'id'), greatest(
    (SELECT max(id) FROM memories), nextval(pg_get_serial_sequence('memories', 'id'))))
"""
# Of three truths the first is none again because the second goes: what had hidden that hides it
_HAND_ON = """
WITH RECURSIVE behind (id, by) AS (
    SELECT id, superseded_by FROM memories
    WHERE superseded_by = ANY(%(gone)s) AND id <> ALL(%(gone)s)
    UNION
    SELECT behind.id, m.superseded_by FROM behind JOIN memories m ON m.id = behind.by
    WHERE m.id = ANY(%(gone)s)
)
UPDATE memories SET superseded_by = behind.by FROM behind
WHERE memories.id = behind.id AND behind.by <> ALL(%(gone)s) AND behind.by <> memories.id
"""
_DELETE = """
WITH gone AS (DELETE FROM memories WHERE id = ANY(%(gone)s) RETURNING superseded_by)
SELECT DISTINCT superseded_by FROM gone
"""
# Memories that are read at a time when all of them are
PAGE_ROWS = 500


class PostgresDraft(Struct, frozen=True):
    """A memory that is not stored yet."""

    key: str
    content: str
    category: str
    scope: Scope
    provenance: Provenance
    source: str


async def put(connection: Connection, draft: PostgresDraft, now_s: float) -> MemoryEntry:
    """Insert or replace by owner and key; the row of a replaced memory keeps its id.

    What somebody more trusted said stays: as it is where the same was said again, else hidden.
    """
    before = await held(connection, draft.scope.owner, draft.key)
    is_below = before is not None and draft.provenance < before.provenance
    if before is not None and is_below and key_of(before.content) == key_of(draft.content):
        return before
    values = _columns(draft.scope, draft.key, draft.content) | {
        "category": escaped(draft.category),
        "provenance": draft.provenance.name.lower(),
        "source": escaped(draft.source),
        "now_s": now_s,
    }
    entry = await _written(connection, _PUT, values)
    if before is None:
        return entry
    if is_below:
        hidden_key = f"{draft.key} (until {now_s:.0f})"
        hidden = replace(before, key=hidden_key, superseded_by=entry.memory_id)
        await _written(connection, _RESTORE, _restored(hidden))
    # It may hide others, and is open again
    await index.refresh(connection, [entry.memory_id, before.superseded_by])
    return entry


async def restore(connection: Connection, entry: MemoryEntry) -> MemoryEntry:
    """Insert or replace with every field, under the old id if that is free."""
    before = await held(connection, entry.scope.owner, entry.key)
    kept = await _written(connection, _RESTORE, _restored(entry))
    await connection.execute(_ADVANCE)
    was_behind = None if before is None else before.superseded_by
    await index.refresh(connection, [kept.memory_id, kept.superseded_by, was_behind])
    return kept


async def delete(connection: Connection, memory_ids: Sequence[int]) -> None:
    """Delete these; what they had hidden is visible, or hidden by what had hidden them.

    Readings and vectors go with their memory: the tables say so.
    """
    gone = {"gone": list(memory_ids)}
    await connection.execute(_HAND_ON, gone)
    behind = await (await connection.execute(_DELETE, gone)).fetchall()
    # What had hidden one of them knows its words no longer
    await index.refresh(connection, [None if one is None else int(str(one)) for (one,) in behind])


async def _written(
    connection: Connection, statement: str, values: dict[str, object]
) -> MemoryEntry:
    found = await connection.execute(statement.encode(), values)
    row = await found.fetchone()
    assert row is not None
    return entry_of(row)


def _restored(entry: MemoryEntry) -> dict[str, object]:
    return _columns(entry.scope, entry.key, entry.content) | {
        "id": entry.memory_id,
        "category": escaped(entry.category),
        "provenance": entry.provenance.name.lower(),
        "source": escaped(entry.source),
        "created_at_s": entry.created_at_s,
        "updated_at_s": entry.updated_at_s,
        "importance": entry.importance,
        "pinned": entry.pinned,
        "superseded_by": entry.superseded_by,
    }


async def held(connection: Connection, owner: str, key: str) -> MemoryEntry | None:
    """Return the owner's memory of that key, hidden or not."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE owner = %s AND key = %s",  # noqa: S608 - ours
        [name_of(owner), escaped(key)],
    )
    row = await found.fetchone()
    return None if row is None else entry_of(row)


async def get(connection: Connection, key: str, scope: Scope) -> MemoryEntry | None:
    """Return the closest owner's memory of that key."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN} AND key = %(key)s"  # noqa: S608 - ours
        " ORDER BY array_position(%(owners)s, owner) LIMIT 1",
        {"owners": owners_of(scope), "key": escaped(key)},
    )
    row = await found.fetchone()
    return None if row is None else entry_of(row)


async def pinned(connection: Connection, scope: Scope) -> list[MemoryEntry]:
    """Return pinned memories, newest first."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN} AND pinned"  # noqa: S608 - as above
        " ORDER BY created_at_s DESC, id DESC LIMIT %(limit)s",
        {"owners": owners_of(scope), "limit": PAGE_ROWS},
    )
    return [entry_of(row) for row in await found.fetchall()]


async def newest(
    connection: Connection, scope: Scope, category: str | None, limit: int
) -> list[MemoryEntry]:
    """Return memories, newest first, filtered by session and category if given."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN}"  # noqa: S608 - as above
        " AND (%(session)s::text IS NULL OR session = %(session)s)"
        " AND (%(category)s::text IS NULL OR category = %(category)s)"
        " ORDER BY updated_at_s DESC, id DESC LIMIT %(limit)s",
        {
            "owners": owners_of(scope),
            "session": optional(scope.session),
            "category": optional(category),
            "limit": max(0, limit),
        },
    )
    return [entry_of(row) for row in await found.fetchall()]


async def asked_for(connection: Connection, ids: Sequence[int], scope: Scope) -> Cursor:
    """Ask for those of these memories that the scope may see."""
    return await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN} AND id = ANY(%(ids)s)",  # noqa: S608 - ours
        {"owners": owners_of(scope), "ids": list(ids)},
    )


async def page(connection: Connection, after_id: int) -> list[MemoryEntry]:
    """Return the next memories by id, superseded ones too."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id > %s ORDER BY id LIMIT %s",  # noqa: S608 - ours
        [after_id, PAGE_ROWS],
    )
    return [entry_of(row) for row in await found.fetchall()]


async def count(connection: Connection, scope: Scope | None) -> int:
    """Count the memories that the scope can recall; without a scope, all."""
    found = await connection.execute(
        "SELECT count(*) FROM memories WHERE superseded_by IS NULL"
        " AND (%(owners)s::text[] IS NULL OR owner = ANY(%(owners)s))",
        {"owners": None if scope is None else owners_of(scope)},
    )
    row = await found.fetchone()
    assert row is not None
    return int(str(row[0]))


async def highest_id(connection: Connection) -> int:
    """Return the highest id: about as many memories there are, and nothing is counted."""
    found = await connection.execute("SELECT coalesce(max(id), 0) FROM memories")
    row = await found.fetchone()
    assert row is not None
    return int(str(row[0]))


def _columns(scope: Scope, key: str, content: str) -> dict[str, object]:
    return {
        "owner": name_of(scope.owner),
        "person": optional(scope.person),
        "people": optional(scope.group),
        "device": optional(scope.device),
        "session": optional(scope.session),
        "key": escaped(key),
        "content": escaped(content),
        "words": words_of(searched_text(key, content)),
    }
