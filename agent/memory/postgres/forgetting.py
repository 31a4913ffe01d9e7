"""Forgetting in the shared brain: a memory goes with all that says the same.

The policy is that of `agent.memory.forgetting`. Every function runs inside a transaction of its
caller, which holds the lock of the memories' owner.
"""

from collections.abc import Sequence

from agent.memory.base import CONVERSATION, FROM_CHAT, MemoryEntry, Scope
from agent.memory.forgetting import LEAST_TOKENS, MOST_FACTS, MOST_TOKENS, is_drawn, says
from agent.memory.keys import key_of
from agent.memory.postgres import rows
from agent.memory.postgres.record import COLUMNS, entry_of, escaped, name_of
from agent.memory.text import asked_tokens
from agent.memory.tombstones import Tombstones
from agent.storage.postgres.pipeline import Connection

_SELECT = f"SELECT {COLUMNS} FROM memories WHERE "  # noqa: S608 - our own constants


async def doomed(connection: Connection, key: str, scope: Scope) -> list[MemoryEntry]:
    """Return the owner's memory of that key, first, and what is forgotten with it."""
    entry = await rows.held(connection, scope.owner, key)
    if entry is None:
        return []
    found = {entry.memory_id: entry}
    for other in (*await _duplicates(connection, entry), *await _kin(connection, entry)):
        found.setdefault(other.memory_id, other)
    for one in list(found.values()):
        for other in await _groups_own(connection, one):
            found.setdefault(other.memory_id, other)
    return list(found.values())


async def from_source(connection: Connection, source: str, scope: Scope) -> list[MemoryEntry]:
    """Return everything of the owner from that source, hidden or not."""
    where = "source = %s AND owner = %s"
    return await _selected(connection, where, [escaped(source), name_of(scope.owner)])


async def bury(connection: Connection, entries: Sequence[MemoryEntry]) -> None:
    """Delete these memories; others come back that they had hidden, with their own words."""
    await rows.delete(connection, [entry.memory_id for entry in entries])


async def bury_dead(connection: Connection, tombstones: Tombstones) -> int:
    """Delete what was noted as forgotten and is still there; return how many."""
    last_id, dead = 0, 0
    while page := await rows.page(connection, last_id):
        found = [entry for entry in page if tombstones.is_dead(entry)]
        if found:
            await bury(connection, found)
        dead += len(found)
        last_id = page[-1].memory_id
    return dead


async def _duplicates(connection: Connection, entry: MemoryEntry) -> list[MemoryEntry]:
    hidden = await _selected(connection, "superseded_by = %s", [entry.memory_id])
    same = key_of(entry.content)
    return [one for one in hidden if key_of(one.content) == same]


async def _kin(connection: Connection, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return the messages of a drawn fact, or the facts drawn from a message."""
    if entry.category == CONVERSATION:
        said = set(asked_tokens(entry.content, len(entry.content)))
        return [one for one in await _drawn(connection, entry) if says(said, one.content)]
    if not is_drawn(entry):
        return []
    told = asked_tokens(entry.content, MOST_TOKENS)
    if len(told) < LEAST_TOKENS:
        return []
    where = "owner = %s AND category = %s AND stems @> stems(%s) ORDER BY id"
    values = [name_of(entry.scope.owner), CONVERSATION, " ".join(told)]
    return await _selected(connection, where, values)


async def _drawn(connection: Connection, message: MemoryEntry) -> list[MemoryEntry]:
    where = "owner = %s AND category <> %s AND starts_with(source, %s) ORDER BY id DESC LIMIT %s"
    values = [name_of(message.scope.owner), CONVERSATION, f"{FROM_CHAT}#", MOST_FACTS]
    return await _selected(connection, where, values)


async def _groups_own(connection: Connection, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return a group's memory of the same words, which the person said there."""
    if entry.scope.person is None or entry.scope.session is None:
        return []
    where = "session = %s AND key = %s AND person IS NULL AND people IS NOT NULL"
    values = [name_of(entry.scope.session), escaped(entry.key)]
    return await _selected(connection, where, values)


async def _selected(
    connection: Connection, where: str, values: Sequence[object]
) -> list[MemoryEntry]:
    found = await connection.execute(f"{_SELECT}{where}".encode(), values)
    return [entry_of(row) for row in await found.fetchall()]
