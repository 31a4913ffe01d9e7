"""Locks of the shared brain: agents that change the same memories do it one after another.

A transaction takes its locks before it changes anything, everybody's first: no two wait for each
other. Its end releases them, whatever becomes of the agent. Reading needs none.
"""

from agent.memory.postgres.record import name_of
from agent.memory.postgres.schema import Connection

# Of everybody's memories, "memories" as a number; an owner's lock has the same first half
_EVERYBODYS = 0x6D656D6F
_ALONE = "SELECT pg_advisory_xact_lock(%s, 0)"
_OWNERS = """
SELECT pg_advisory_xact_lock_shared(%(lock)s, 0),
    pg_advisory_xact_lock(%(lock)s + 1, hashtext(%(owner)s))
"""
_ANOTHERS = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"


async def owners(connection: Connection, owner: str) -> None:
    """Wait until nobody else changes the memories of this owner."""
    await connection.execute(_OWNERS, {"lock": _EVERYBODYS, "owner": name_of(owner)})


async def groups(connection: Connection, owner: str) -> None:
    """As `owners`, for a group beside a person whose lock is held."""
    await connection.execute(_ANOTHERS, [_EVERYBODYS + 1, name_of(owner)])


async def everybodys(connection: Connection) -> None:
    """Wait until nobody else changes any memory."""
    await connection.execute(_ALONE, [_EVERYBODYS])
