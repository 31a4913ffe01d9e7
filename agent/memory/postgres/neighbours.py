"""Neighbours of a memory in its conversation, and memories by trust and time, on the server."""

from collections.abc import Collection, Iterable

from agent.memory import sessions
from agent.memory.base import Scope
from agent.memory.postgres.rows import owners_of, restored
from agent.memory.postgres.schema import Connection
from agent.memory.ranking import CANDIDATES
from agent.memory.search import MAX_PEOPLES, TOLD_LATER_S, TRUSTED
from agent.memory.sessions import TURNS_AROUND, MemoryNeighbours, SessionTurn
from agent.memory.times import Span
from agent.messages import Provenance

_TURNS = """
SELECT id, session, owner, provenance FROM memories WHERE superseded_by IS NULL AND id = ANY(%s)
"""
_BESIDE = f"""
SELECT id, ARRAY(
    SELECT m.id FROM memories m WHERE m.session = t.session AND m.owner = t.owner AND m.id < t.id
        AND m.superseded_by IS NULL ORDER BY m.id DESC LIMIT {TURNS_AROUND}
), ARRAY(
    SELECT m.id FROM memories m WHERE m.session = t.session AND m.owner = t.owner AND m.id > t.id
        AND m.superseded_by IS NULL ORDER BY m.id LIMIT {TURNS_AROUND}
) FROM memories t WHERE id = ANY(%s)
"""  # noqa: S608 - our own constants
_SEEN = "owner = ANY(%(owners)s) AND superseded_by IS NULL"
_OF_PEOPLE = f"""
SELECT id FROM memories WHERE {_SEEN} AND provenance = ANY(%(trusted)s)
ORDER BY id DESC LIMIT {MAX_PEOPLES}
"""  # noqa: S608 - as above
_SAID_THEN = f"""
SELECT id FROM memories WHERE {_SEEN} AND created_at_s >= %(start_s)s AND created_at_s < %(end_s)s
ORDER BY created_at_s DESC LIMIT {CANDIDATES}
"""  # noqa: S608 - as above
# Of lines right before one, the newest first
_BEFORE = f"""
SELECT content FROM memories WHERE session = %s AND owner = %s AND superseded_by IS NULL AND id < %s
ORDER BY id DESC LIMIT {TURNS_AROUND}
"""  # noqa: S608 - as above
_LAST_ID = 2**63 - 1
TRUSTED_NAMES = [one.name.lower() for one in Provenance if one >= TRUSTED]


async def turns(connection: Connection, memory_ids: Iterable[int]) -> list[SessionTurn]:
    found = await connection.execute(_TURNS, [list(memory_ids)])
    return [
        SessionTurn(
            int(str(memory_id)),
            None if session is None else str(session),
            str(owner),
            Provenance.__members__.get(str(provenance).upper(), Provenance.WEB),
        )
        for memory_id, session, owner, provenance in await found.fetchall()
    ]


async def around(connection: Connection, memory_ids: Collection[int]) -> MemoryNeighbours:
    """Return these memories with two turns either side of each."""
    found = await connection.execute(_BESIDE, [list(memory_ids)])
    return sessions.joined(
        [*reversed(_ids(before)), int(str(one)), *_ids(after)]
        for one, before, after in await found.fetchall()
    )


async def of_people(connection: Connection, scope: Scope) -> list[int]:
    """Return the newest memories that people vouch for."""
    asked = {"owners": owners_of(scope), "trusted": TRUSTED_NAMES}
    found = await connection.execute(_OF_PEOPLE, asked)
    return [int(str(one)) for (one,) in await found.fetchall()]


async def said_then(connection: Connection, span: Span, scope: Scope) -> list[int]:
    """Return the newest memories that were said in that time or a little later."""
    asked = {
        "owners": owners_of(scope),
        "start_s": span.start_s,
        "end_s": span.end_s + TOLD_LATER_S,
    }
    found = await connection.execute(_SAID_THEN, asked)
    return [int(str(one)) for (one,) in await found.fetchall()]


async def said_before(
    connection: Connection, session: object, owner: object, memory_id: int = _LAST_ID
) -> str:
    """Return the lines right before a memory in its conversation, as the server has its names."""
    if session is None:
        return ""
    found = await connection.execute(_BEFORE, [session, owner, memory_id])
    return " ".join(reversed([restored(content) for (content,) in await found.fetchall()]))


def _ids(value: object) -> list[int]:
    return [int(str(one)) for one in value] if isinstance(value, list) else []
