"""Memories as rows of the shared brain; every function runs inside a transaction of its caller.

What an owner may see is what `Scope.owners` names, here as everywhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.memory.base import MemoryEntry, Scope
from agent.memory.keys import searched_text
from agent.memory.postgres.schema import Connection
from agent.memory.text import tokens
from agent.messages import Provenance

# The fields of an entry, in the order in which `entry_of` reads them
COLUMNS = (
    "id, key, content, category, provenance, person, people, device, session, created_at_s,"
    " updated_at_s, importance, pinned, superseded_by, source"
)
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
# PostgreSQL's texts hold no NUL: it becomes a private letter and a 0, that letter twice itself
_ESCAPE = "\ue000"
_ESCAPED = re.compile(f"{_ESCAPE}(.)", re.DOTALL)
# Memories that are read at a time when all of them are
PAGE_ROWS = 500

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class PostgresDraft:
    """A memory that is not stored yet."""

    key: str
    content: str
    category: str
    scope: Scope
    provenance: Provenance
    source: str


async def put(connection: Connection, draft: PostgresDraft, now_s: float) -> MemoryEntry:
    """Insert or replace by owner and key; the row of a replaced memory keeps its id."""
    values = _columns(draft.scope, draft.key, draft.content) | {
        "category": escaped(draft.category),
        "provenance": draft.provenance.name.lower(),
        "source": escaped(draft.source),
        "now_s": now_s,
    }
    found = await connection.execute(_PUT, values)
    row = await found.fetchone()
    assert row is not None
    return entry_of(row)


async def restore(connection: Connection, entry: MemoryEntry) -> MemoryEntry:
    """Insert or replace with every field, under the old id if that is free."""
    values = _columns(entry.scope, entry.key, entry.content) | {
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
    found = await connection.execute(_RESTORE, values)
    row = await found.fetchone()
    assert row is not None
    await connection.execute(_ADVANCE)
    return entry_of(row)


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


async def about(connection: Connection, asked: Sequence[str], scope: Scope) -> list[MemoryEntry]:
    """Return the newest memories with each of these tokens or its beginning, oldest first."""
    if not asked:
        return []
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN}"  # noqa: S608 - as above
        " AND words LIKE ALL(%(asked)s) ORDER BY created_at_s DESC, id DESC LIMIT %(limit)s",
        {
            "owners": owners_of(scope),
            "asked": [f"% {token}%" for token in asked],
            "limit": PAGE_ROWS,
        },
    )
    return [entry_of(row) for row in reversed(await found.fetchall())]


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
            "session": _optional(scope.session),
            "category": _optional(category),
            "limit": max(0, limit),
        },
    )
    return [entry_of(row) for row in await found.fetchall()]


async def by_id(connection: Connection, ids: Sequence[int], scope: Scope) -> dict[int, MemoryEntry]:
    """Return those of these memories that the scope may see."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE {_SEEN} AND id = ANY(%(ids)s)",  # noqa: S608 - ours
        {"owners": owners_of(scope), "ids": list(ids)},
    )
    entries = [entry_of(row) for row in await found.fetchall()]
    return {entry.memory_id: entry for entry in entries}


async def page(connection: Connection, after_id: int) -> list[MemoryEntry]:
    """Return the next memories by id, superseded ones too."""
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id > %s ORDER BY id LIMIT %s",  # noqa: S608 - ours
        [after_id, PAGE_ROWS],
    )
    return [entry_of(row) for row in await found.fetchall()]


async def forget(connection: Connection, key: str, scope: Scope) -> bool:
    """Delete the owner's memory; what it had superseded comes back."""
    gone = await connection.execute(
        "DELETE FROM memories WHERE owner = %s AND key = %s",
        [escaped(_clean(scope.owner)), escaped(key)],
    )
    return gone.rowcount > 0


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


def owners_of(scope: Scope) -> list[str]:
    return list(map(name_of, scope.owners))


def name_of(name: str) -> str:
    """Return the name of an owner or a session as PostgreSQL holds it."""
    return escaped(_clean(name))


def entry_of(row: Row) -> MemoryEntry:
    key, content, category, provenance, person, people, device, session = row[1:9]
    return MemoryEntry(
        int(str(row[0])),
        restored(key),
        restored(content),
        restored(category),
        # An unknown source is trusted least
        Provenance.__members__.get(str(provenance).upper(), Provenance.WEB),
        Scope(_named(person), _named(session), _named(people), _named(device)),
        float(str(row[9])),
        float(str(row[10])),
        importance=float(str(row[11])),
        pinned=bool(row[12]),
        superseded_by=None if row[13] is None else int(str(row[13])),
        source=restored(row[14]),
    )


def escaped(text: str) -> str:
    """Return the text as PostgreSQL can hold it."""
    return text.replace(_ESCAPE, _ESCAPE * 2).replace("\x00", f"{_ESCAPE}0")


def restored(value: object) -> str:
    return _ESCAPED.sub(lambda found: "\x00" if found[1] == "0" else found[1], str(value))


def _columns(scope: Scope, key: str, content: str) -> dict[str, object]:
    return {
        "owner": escaped(_clean(scope.owner)),
        "person": _optional(scope.person),
        "people": _optional(scope.group),
        "device": _optional(scope.device),
        "session": _optional(scope.session),
        "key": escaped(key),
        "content": escaped(content),
        "words": words_of(searched_text(key, content)),
    }


def words_of(text: str) -> str:
    """Return the search tokens of a text, with a space before and after each."""
    return f" {' '.join(tokens(text))} "


def _optional(text: str | None) -> str | None:
    return None if text is None else escaped(_clean(text))


def _named(value: object) -> str | None:
    return None if value is None else restored(value)


def _clean(text: str) -> str:
    """Replace lone surrogates by question marks, because no database holds them."""
    return text.encode(errors="replace").decode()
