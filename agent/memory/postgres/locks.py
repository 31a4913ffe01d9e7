"""Locks of the shared brain: agents that change the same memories do it one after another.

A transaction takes its locks before it changes anything, everybody's first: no two wait for each
other. Its end releases them, whatever becomes of the agent. Reading needs none.

Each function sends its question: what follows on the connection happens when the lock is held.
"""

from collections.abc import Mapping, Sequence

from agent.memory.postgres.record import name_of
from agent.storage.postgres.connection import CALL_TIMEOUT_S, STATEMENT_TIMEOUT_S
from agent.storage.postgres.pipeline import Connection

# Of everybody's memories, "memories" as a number; an owner's lock has the same first half
_EVERYBODYS = 0x6D656D6F
_ALONE = "SELECT pg_advisory_xact_lock(%s, 0)"
_OWNERS = """
SELECT pg_advisory_xact_lock_shared(%(lock)s, 0),
    pg_advisory_xact_lock(%(lock)s + 1, hashtext(%(owner)s))
"""
_ANOTHERS = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
# Who stands in a line behind others may wait as long as a call; the statements have their own time
_WAIT = f"SET LOCAL statement_timeout = '{CALL_TIMEOUT_S}s'"
_WAITED = f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT_S}s'"


async def owners(connection: Connection, owner: str) -> None:
    """Wait until nobody else changes the memories of this owner."""
    await _wait(connection, _OWNERS, {"lock": _EVERYBODYS, "owner": name_of(owner)})


async def groups(connection: Connection, owner: str) -> None:
    """As `owners`, for a group beside a person whose lock is held."""
    await _wait(connection, _ANOTHERS, [_EVERYBODYS + 1, name_of(owner)])


async def everybodys(connection: Connection) -> None:
    """Wait until nobody else changes any memory."""
    await _wait(connection, _ALONE, [_EVERYBODYS])


async def _wait(
    connection: Connection, lock: str, names: Sequence[object] | Mapping[str, object]
) -> None:
    await connection.execute(_WAIT.encode())
    await connection.execute(lock.encode(), names)
    await connection.execute(_WAITED.encode())
