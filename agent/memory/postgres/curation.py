"""Curation and upkeep of the shared brain.

The policy is that of `curation` and `upkeep`: nothing here raises trust, pinned memories and the
lasting facts of people stay. Every function runs inside a transaction of its caller.
"""

from collections.abc import Collection

from msgspec.structs import replace

from agent.memory import curation
from agent.memory.base import CONVERSATION, CORE, MemoryEntry, Scope
from agent.memory.curation import MOST_FORMER
from agent.memory.postgres import index, locks, rows
from agent.memory.postgres.record import COLUMNS, entry_of, escaped, name_of, owners_of
from agent.memory.text import asked_tokens
from agent.messages import Provenance
from agent.storage.postgres.pipeline import Connection

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
WHERE memories.id = same.id AND same.best <> same.id RETURNING memories.id
"""  # noqa: S608 - our own constants
_PRUNE = f"""
SELECT id FROM memories WHERE category = '{CONVERSATION}' AND NOT pinned AND updated_at_s < %s
LIMIT {BATCH}
"""  # noqa: S608 - as above
_EVICT = f"""
SELECT id FROM memories WHERE NOT pinned
    AND NOT (category = '{CORE}' AND {_TRUST} >= {Provenance.USER.value})
ORDER BY superseded_by IS NULL, {_TRUST}, category <> '{CONVERSATION}', category = '{CORE}',
    importance, updated_at_s, id
LIMIT greatest(0, least({BATCH}, (SELECT count(*) FROM memories) - %s))
"""  # noqa: S608 - as above
_CLOSED = f"""
SELECT {COLUMNS} FROM memories WHERE superseded_by = %s AND owner = %s
ORDER BY created_at_s DESC, id DESC LIMIT {MOST_FORMER}
"""  # noqa: S608 - our own constants
_NAMING = f"""
SELECT {COLUMNS} FROM memories WHERE owner = ANY(%s) AND stems @> stems(%s)
ORDER BY created_at_s DESC, id DESC LIMIT %s
"""  # noqa: S608 - as above
_BY_ID = f"SELECT {COLUMNS} FROM memories WHERE id = ANY(%s)"  # noqa: S608 - as above


async def mark(connection: Connection, key: str, scope: Scope, marks: curation.Marks) -> bool:
    done = await connection.execute(
        "UPDATE memories SET pinned = coalesce(%s::boolean, pinned),"
        " created_at_s = least(created_at_s, coalesce(%s::double precision, created_at_s)),"
        " updated_at_s = least(updated_at_s, coalesce(%s::double precision, updated_at_s)),"
        " importance = greatest(0, least(1, coalesce(%s::double precision, importance)))"
        " WHERE owner = %s AND key = %s RETURNING id",
        [
            marks.pinned,
            marks.said_at_s,
            marks.said_at_s,
            marks.importance,
            name_of(scope.owner),
            escaped(key),
        ],
    )
    return await done.fetchone() is not None


async def supersede(connection: Connection, old_key: str, new_key: str, scope: Scope) -> bool:
    """Hide the old memory behind the new one; return true if done."""
    await locks.owners(connection, scope.owner)
    old = await rows.held(connection, scope.owner, old_key)
    new = await rows.held(connection, scope.owner, new_key)
    if old is None or new is None or not curation.may_hide(new, old):
        return False
    await connection.execute(
        "UPDATE memories SET superseded_by = %s WHERE id = %s", [new.memory_id, old.memory_id]
    )
    await index.refresh(connection, [new.memory_id])
    return True


async def revive(connection: Connection, key: str, scope: Scope) -> bool:
    await locks.owners(connection, scope.owner)
    hidden = await rows.held(connection, scope.owner, key)
    if hidden is None or hidden.superseded_by is None:
        return False
    await connection.execute(
        "UPDATE memories SET superseded_by = NULL WHERE id = %s", [hidden.memory_id]
    )
    await index.refresh(connection, [hidden.superseded_by])
    return True


async def rebuild(connection: Connection, after_id: int) -> list[int]:
    """Make the search words of the next memories again, drop their readings; return their ids."""
    await locks.everybodys(connection)
    ids = [entry.memory_id for entry in await rows.page(connection, after_id)]
    await index.refresh(connection, ids)
    await connection.execute("DELETE FROM memory_readings WHERE memory_id = ANY(%s)", [ids])
    return ids


async def prune(connection: Connection, before_s: float) -> int:
    """Delete the next conversations that are older than that; return how many."""
    return await _deleted(connection, _PRUNE, before_s)


async def merge(connection: Connection) -> int:
    """Hide duplicates of the most trusted, oldest memory; return how many."""
    await locks.everybodys(connection)
    return len(await (await connection.execute(_MERGE)).fetchall())


async def evict(connection: Connection, max_memories: int) -> int:
    """Delete the next memories over the limit, if they may go; return how many."""
    return await _deleted(connection, _EVICT, max_memories)


async def _deleted(connection: Connection, chosen: str, bound: float) -> int:
    await locks.everybodys(connection)
    found = await (await connection.execute(chosen.encode(), [bound])).fetchall()
    await rows.delete(connection, [int(str(memory_id)) for (memory_id,) in found])
    return len(found)


async def former(connection: Connection, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return what this memory contradicted and what that had contradicted, the latest first."""
    from agent.memory.statement import contradicts  # noqa: PLC0415 - many patterns, for few calls

    found: list[MemoryEntry] = []
    by = entry
    while len(found) < MOST_FORMER:
        asked = [by.memory_id, name_of(by.scope.owner)]
        rows = await (await connection.execute(_CLOSED.encode(), asked)).fetchall()
        closed = [one for one in map(entry_of, rows) if contradicts(by.content, one.content)]
        if not closed:
            return found
        found += [replace(one, until_s=by.created_at_s) for one in closed]
        by = closed[-1]
    return found[:MOST_FORMER]


async def timeline(connection: Connection, thing: str, scope: Scope) -> list[MemoryEntry]:
    """Return the memories with every word of the thing, oldest first, with their ends."""
    from agent.memory import contradiction  # noqa: PLC0415 - for those who ask

    asked = asked_tokens(thing, contradiction.MOST_TOKENS)
    if not asked:
        return []
    values = [owners_of(scope), " ".join(asked), contradiction.MOST_TOLD]
    found = await (await connection.execute(_NAMING.encode(), values)).fetchall()
    entries = [entry_of(row) for row in reversed(found)]
    later = await _by_id(connection, {one.superseded_by or 0 for one in entries})
    told = [contradiction.ended(one, later.get(one.superseded_by or 0)) for one in entries]
    return [entry for entry in told if entry is not None]


async def _by_id(connection: Connection, ids: Collection[int]) -> dict[int, MemoryEntry]:
    found = await (await connection.execute(_BY_ID.encode(), [list(ids)])).fetchall()
    return {entry.memory_id: entry for entry in map(entry_of, found)}
