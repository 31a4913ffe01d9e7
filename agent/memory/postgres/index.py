"""Search words of memories in the shared brain, in step with what hides what.

A memory has its own words and those of what it contradicted: both answer one question. Every
function runs inside a transaction of its caller.
"""

from collections.abc import Iterable

from agent.memory.keys import searched_text
from agent.memory.postgres.record import restored, words_of
from agent.memory.postgres.schema import Connection


async def refresh(connection: Connection, memory_ids: Iterable[int | None]) -> None:
    """Index these memories again; those that are gone, and None, are left out."""
    for memory_id in sorted({one for one in memory_ids if one is not None}):
        found = await connection.execute(
            "SELECT key, content, words FROM memories WHERE id = %s", [memory_id]
        )
        row = await found.fetchone()
        if row is None:
            continue
        words = await _words(connection, memory_id, restored(row[0]), restored(row[1]))
        if words != row[2]:
            await connection.execute(
                "UPDATE memories SET words = %s WHERE id = %s", [words, memory_id]
            )


async def _words(connection: Connection, memory_id: int, key: str, content: str) -> str:
    texts = [searched_text(key, content)]
    found = await connection.execute(
        "SELECT content FROM memories WHERE superseded_by = %s ORDER BY id", [memory_id]
    )
    if hidden := [restored(other) for (other,) in await found.fetchall()]:
        from agent.memory.statement import contradicts  # noqa: PLC0415 - few hide anything

        texts += [other for other in hidden if contradicts(content, other)]
    return words_of(" ".join(texts))
