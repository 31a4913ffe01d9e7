"""Neighbours of a memory in its conversation, and memories by trust and time, on the server."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from agent.memory.base import Scope
from agent.memory.postgres.record import Row, owners_of, restored
from agent.memory.ranking import CANDIDATES
from agent.memory.search import MAX_PEOPLES, TOLD_LATER_S, TRUSTED
from agent.memory.sessions import TURNS_AROUND, SessionTurn
from agent.memory.times import TimeSpan
from agent.messages import Provenance
from agent.storage.postgres.pipeline import Connection

# Each with what was said right before and after it
_TURNS = f"""
SELECT id, session, owner, provenance, ARRAY(
    SELECT m.id FROM memories m WHERE m.session = t.session AND m.owner = t.owner AND m.id < t.id
        AND m.superseded_by IS NULL ORDER BY m.id DESC LIMIT {TURNS_AROUND}
), ARRAY(
    SELECT m.id FROM memories m WHERE m.session = t.session AND m.owner = t.owner AND m.id > t.id
        AND m.superseded_by IS NULL ORDER BY m.id LIMIT {TURNS_AROUND}
) FROM memories t WHERE superseded_by IS NULL AND id = ANY(%s)
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


class PostgresTurn(Struct, frozen=True):
    """A memory and its place in a conversation; `window` has the turns around it, in order."""

    turn: SessionTurn
    window: Sequence[int]


async def turns(connection: Connection, memory_ids: Iterable[int]) -> list[PostgresTurn]:
    """Return these memories with two turns either side of each."""
    asked = list(memory_ids)
    if not asked:
        return []
    found = await connection.execute(_TURNS.encode(), [asked])
    return [_turn(row) for row in await found.fetchall()]


def _turn(row: Row) -> PostgresTurn:
    memory_id, session, owner, provenance, before, after = row
    turn = SessionTurn(
        int(str(memory_id)),
        None if session is None else str(session),
        str(owner),
        Provenance.__members__.get(str(provenance).upper(), Provenance.WEB),
    )
    return PostgresTurn(turn, [*reversed(_ids(before)), turn.memory_id, *_ids(after)])


async def of_people(connection: Connection, scope: Scope) -> list[int]:
    """Return the newest memories that people vouch for."""
    asked = {"owners": owners_of(scope), "trusted": TRUSTED_NAMES}
    found = await connection.execute(_OF_PEOPLE, asked)
    return [int(str(one)) for (one,) in await found.fetchall()]


async def said_then(connection: Connection, span: TimeSpan, scope: Scope) -> list[int]:
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
