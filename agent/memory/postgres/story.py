"""Story of a thing in the shared brain: what was so before, and until when.

As `curation.former` and `contradiction.timeline`; every function runs inside a transaction of its
caller.
"""

from collections.abc import Collection
from dataclasses import replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.curation import MOST_FORMER
from agent.memory.postgres.record import COLUMNS, entry_of, name_of, owners_of
from agent.memory.postgres.schema import Connection
from agent.memory.text import asked_tokens

_CLOSED = f"""
SELECT {COLUMNS} FROM memories WHERE superseded_by = %s AND owner = %s
ORDER BY created_at_s DESC, id DESC LIMIT {MOST_FORMER}
"""  # noqa: S608 - our own constants
_NAMING = f"""
SELECT {COLUMNS} FROM memories WHERE owner = ANY(%s) AND stems @> stems(%s)
ORDER BY created_at_s DESC, id DESC LIMIT %s
"""  # noqa: S608 - as above
_BY_ID = f"SELECT {COLUMNS} FROM memories WHERE id = ANY(%s)"  # noqa: S608 - as above


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
