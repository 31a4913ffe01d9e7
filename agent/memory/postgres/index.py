"""Search words of memories in the shared brain, in step with what hides what.

A memory has its own words and those of what it contradicted: both answer one question. Every
function runs inside a transaction of its caller.
"""

from collections.abc import Iterable, Sequence

from agent.memory.keys import searched_text
from agent.memory.postgres.record import restored, words_of
from agent.storage.postgres.pipeline import Connection

# The contents that each hides, too
_INDEXED = """
SELECT id, key, content, words,
    ARRAY(SELECT h.content FROM memories h WHERE h.superseded_by = m.id ORDER BY h.id)
FROM memories m WHERE id = ANY(%s) ORDER BY id
"""


async def refresh(connection: Connection, memory_ids: Iterable[int | None]) -> None:
    """Index these memories again; those that are gone, and None, are left out."""
    ids = list({one for one in memory_ids if one is not None})
    if not ids:
        return
    found = await connection.execute(_INDEXED, [ids])
    for memory_id, key, content, words, hidden in await found.fetchall():
        texts = [restored(other) for other in hidden] if isinstance(hidden, list) else []
        new = _words(restored(key), restored(content), texts)
        if new != words:
            await connection.execute(
                "UPDATE memories SET words = %s WHERE id = %s", [new, memory_id]
            )


def _words(key: str, content: str, hidden: Sequence[str]) -> str:
    texts = [searched_text(key, content)]
    if hidden:
        from agent.memory.statement import contradicts  # noqa: PLC0415 - few hide anything

        texts += [other for other in hidden if contradicts(content, other)]
    return words_of(" ".join(texts))
