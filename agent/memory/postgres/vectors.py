"""Readings of a model in the shared brain; each belongs to a memory and a model.

Every server keeps them as bytes; one with pgvector keeps the vector in its type too, to search it.
"""

from collections.abc import Sequence

from msgspec import Struct

from agent.embeddings.base import PassageReading, TextPassage
from agent.memory.keys import searched_text
from agent.memory.postgres import neighbours
from agent.memory.postgres.record import Row, escaped, restored
from agent.memory.postgres.schema import ServerExtensions
from agent.storage.postgres.pipeline import Connection, Cursor

_UNEMBEDDED = """
SELECT id, key, content, session, owner FROM memories m WHERE superseded_by IS NULL AND NOT EXISTS
    (SELECT 1 FROM memory_readings r WHERE r.memory_id = m.id AND r.model = %s)
ORDER BY id DESC LIMIT %s
"""


class PostgresUnembedded(Struct, frozen=True):
    """A memory without a reading of a model, and what to read."""

    memory_id: int
    content: str
    passage: TextPassage


class StoredReading(Struct, frozen=True):
    """A reading as bytes; `tokens` is None where the model tells none."""

    vector: bytes
    tokens: bytes | None


async def put(
    connection: Connection,
    memory_id: int,
    model: str,
    reading: PassageReading,
    abilities: ServerExtensions,
) -> None:
    from agent.memory import closeness  # noqa: PLC0415 - numpy, which a reading has loaded
    from agent.memory.vectors import encode  # noqa: PLC0415 - the same

    await connection.execute(
        "INSERT INTO memory_readings (memory_id, model, vector, tokens) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (memory_id, model) DO UPDATE"
        " SET vector = excluded.vector, tokens = excluded.tokens",
        [memory_id, model, encode(reading.vector), closeness.packed(reading.tokens)],
    )
    if abilities.vectors:
        await connection.execute(
            "INSERT INTO memory_vectors (memory_id, model, vector) VALUES (%s, %s, %s::vector)"
            " ON CONFLICT (memory_id, model) DO UPDATE SET vector = excluded.vector",
            [memory_id, model, literal(reading.vector.tolist())],
        )


async def drop(connection: Connection, memory_id: int, abilities: ServerExtensions) -> None:
    await connection.execute("DELETE FROM memory_readings WHERE memory_id = %s", [memory_id])
    if abilities.vectors:
        await connection.execute("DELETE FROM memory_vectors WHERE memory_id = %s", [memory_id])


async def asked_for(connection: Connection, model: str, memory_ids: Sequence[int]) -> Cursor:
    """Ask for this model's readings of these memories."""
    # As they are: written out as text they would be twice as long
    return await connection.cursor(binary=True).execute(
        "SELECT memory_id, vector, tokens FROM memory_readings"
        " WHERE model = %s AND memory_id = ANY(%s)",
        [model, list(memory_ids)],
    )


def stored(rows: Sequence[Row]) -> dict[int, StoredReading]:
    """Return the answer to `asked_for`."""
    return {
        int(str(memory_id)): StoredReading(_bytes(vector) or b"", _bytes(tokens))
        for memory_id, vector, tokens in rows
    }


async def unembedded(connection: Connection, model: str, limit: int) -> list[PostgresUnembedded]:
    """Return the newest memories without a reading of this model."""
    found = await connection.execute(_UNEMBEDDED, [model, limit])
    lacking = []
    for memory_id, key, content, session, owner in await found.fetchall():
        number, said = int(str(memory_id)), restored(content)
        before = await neighbours.said_before(connection, session, owner, number)
        passage = TextPassage(searched_text(restored(key), said), before)
        lacking.append(PostgresUnembedded(number, said, passage))
    return lacking


async def fill(
    connection: Connection,
    row: PostgresUnembedded,
    model: str,
    reading: PassageReading,
    abilities: ServerExtensions,
) -> None:
    """Give a memory its reading, unless its text has changed."""
    found = await connection.execute(
        "SELECT 1 FROM memories WHERE id = %s AND content = %s FOR SHARE",
        [row.memory_id, escaped(row.content)],
    )
    if await found.fetchone() is not None:
        await put(connection, row.memory_id, model, reading, abilities)


def literal(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(str, vector))}]"


def _bytes(value: object) -> bytes | None:
    return bytes(value) if isinstance(value, bytes | memoryview) else None
