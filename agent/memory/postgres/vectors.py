"""The vectors of a shared brain, in pgvector's type; each belongs to a memory and a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.memory.keys import searched_text
from agent.memory.postgres.rows import escaped, restored
from agent.memory.postgres.schema import Connection


@dataclass(frozen=True, slots=True)
class PostgresUnembedded:
    """A memory without a vector of a model, and the text to embed."""

    memory_id: int
    content: str
    text: str


async def put(connection: Connection, memory_id: int, model: str, vector: Sequence[float]) -> None:
    await connection.execute(
        "INSERT INTO memory_vectors (memory_id, model, vector) VALUES (%s, %s, %s::vector)"
        " ON CONFLICT (memory_id, model) DO UPDATE SET vector = excluded.vector",
        [memory_id, model, literal(vector)],
    )


async def drop(connection: Connection, memory_id: int) -> None:
    await connection.execute("DELETE FROM memory_vectors WHERE memory_id = %s", [memory_id])


async def unembedded(connection: Connection, model: str, limit: int) -> list[PostgresUnembedded]:
    """Return the newest memories without a vector of this model."""
    found = await connection.execute(
        "SELECT id, key, content FROM memories m WHERE superseded_by IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM memory_vectors v WHERE v.memory_id = m.id AND v.model = %s)"
        " ORDER BY id DESC LIMIT %s",
        [model, limit],
    )
    return [
        PostgresUnembedded(
            int(str(memory_id)),
            restored(content),
            searched_text(restored(key), restored(content)),
        )
        for memory_id, key, content in await found.fetchall()
    ]


async def fill(
    connection: Connection, model: str, made: Sequence[tuple[PostgresUnembedded, Sequence[float]]]
) -> None:
    """Give memories their vectors, unless their text has changed."""
    for row, vector in made:
        await connection.execute(
            "INSERT INTO memory_vectors (memory_id, model, vector)"
            " SELECT id, %s, %s::vector FROM memories WHERE id = %s AND content = %s"
            " ON CONFLICT (memory_id, model) DO NOTHING",
            [model, literal(vector), row.memory_id, escaped(row.content)],
        )


def literal(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(str, vector))}]"
