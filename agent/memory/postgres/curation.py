"""Curation and upkeep of the shared brain.

The policy is that of `curation` and `upkeep`: nothing here raises trust, pinned memories and the
lasting facts of people stay. Every function runs inside a transaction of its caller.
"""

from agent.memory import curation
from agent.memory.base import CONVERSATION, CORE, MemoryEntry, Scope
from agent.memory.keys import searched_text
from agent.memory.postgres.rows import COLUMNS, entry_of, escaped, page, words_of
from agent.memory.postgres.schema import Connection
from agent.messages import Provenance

# Memories that are deleted in one transaction
BATCH = 500
_RANKS = " ".join(f"WHEN '{one.name.lower()}' THEN {one.value}" for one in Provenance)
_TRUST = f"CASE provenance {_RANKS} ELSE {Provenance.WEB.value} END"
_MERGE = f"""
WITH same AS (
    SELECT id, first_value(id) OVER (
        PARTITION BY owner, btrim(lower(content), ' .,;:!?。，；：！？')
        ORDER BY {_TRUST} DESC, created_at_s, id
    ) AS best FROM memories WHERE superseded_by IS NULL AND NOT pinned
)
UPDATE memories SET superseded_by = same.best FROM same
WHERE memories.id = same.id AND same.best <> same.id
"""  # noqa: S608 - our own constants
_PRUNE = f"""
DELETE FROM memories WHERE id IN (
    SELECT id FROM memories WHERE category = '{CONVERSATION}' AND NOT pinned AND updated_at_s < %s
    LIMIT {BATCH}
)
"""  # noqa: S608 - as above
_EVICT = f"""
DELETE FROM memories WHERE id IN (
    SELECT id FROM memories WHERE NOT pinned
        AND NOT (category = '{CORE}' AND {_TRUST} >= {Provenance.USER.value})
    ORDER BY superseded_by IS NULL, {_TRUST}, category <> '{CONVERSATION}', category = '{CORE}',
        importance, updated_at_s, id
    LIMIT greatest(0, least({BATCH}, (SELECT count(*) FROM memories) - %s))
)
"""  # noqa: S608 - as above


async def mark(connection: Connection, key: str, scope: Scope, marks: curation.Marks) -> bool:
    done = await connection.execute(
        "UPDATE memories SET pinned = coalesce(%s::boolean, pinned),"
        " created_at_s = least(created_at_s, coalesce(%s::double precision, created_at_s)),"
        " updated_at_s = least(updated_at_s, coalesce(%s::double precision, updated_at_s)),"
        " importance = greatest(0, least(1, coalesce(%s::double precision, importance)))"
        " WHERE owner = %s AND key = %s",
        [
            marks.pinned,
            marks.said_at_s,
            marks.said_at_s,
            marks.importance,
            escaped(scope.owner),
            escaped(key),
        ],
    )
    return done.rowcount > 0


async def supersede(connection: Connection, old_key: str, new_key: str, scope: Scope) -> bool:
    """Hide the old memory behind the new one; return true if done. Both are locked meanwhile."""
    old = await _held(connection, old_key, scope)
    new = await _held(connection, new_key, scope)
    if old is None or new is None or not curation.may_hide(new, old):
        return False
    await connection.execute(
        "UPDATE memories SET superseded_by = %s WHERE id = %s", [new.memory_id, old.memory_id]
    )
    return True


async def revive(connection: Connection, key: str, scope: Scope) -> bool:
    done = await connection.execute(
        "UPDATE memories SET superseded_by = NULL"
        " WHERE owner = %s AND key = %s AND superseded_by IS NOT NULL",
        [escaped(scope.owner), escaped(key)],
    )
    return done.rowcount > 0


async def forget_source(connection: Connection, source: str, scope: Scope) -> int:
    done = await connection.execute(
        "DELETE FROM memories WHERE owner = %s AND source = %s",
        [escaped(scope.owner), escaped(source)],
    )
    return done.rowcount


async def rebuild(connection: Connection, after_id: int) -> list[int]:
    """Make the search words of the next memories again; return their ids."""
    entries = await page(connection, after_id)
    for entry in entries:
        await connection.execute(
            "UPDATE memories SET words = %s WHERE id = %s",
            [words_of(searched_text(entry.key, entry.content)), entry.memory_id],
        )
    return [entry.memory_id for entry in entries]


async def prune(connection: Connection, before_s: float) -> int:
    """Delete the next conversations that are older than that; return how many."""
    return (await connection.execute(_PRUNE, [before_s])).rowcount


async def merge(connection: Connection) -> int:
    """Hide duplicates of the most trusted, oldest memory; return how many."""
    return (await connection.execute(_MERGE)).rowcount


async def evict(connection: Connection, max_memories: int) -> int:
    """Delete the next memories over the limit, if they may go; return how many."""
    return (await connection.execute(_EVICT, [max_memories])).rowcount


async def _held(connection: Connection, key: str, scope: Scope) -> MemoryEntry | None:
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM memories"  # noqa: S608 - our own constant
        " WHERE owner = %s AND key = %s FOR UPDATE",
        [escaped(scope.owner), escaped(key)],
    )
    row = await found.fetchone()
    return None if row is None else entry_of(row)
