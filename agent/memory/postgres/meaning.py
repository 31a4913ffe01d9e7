"""Search by meaning in the shared brain: nearest by pgvector, the rest compared here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.memory.postgres import vectors
from agent.memory.postgres.question import PostgresQuestion
from agent.memory.postgres.rows import owners_of
from agent.memory.postgres.schema import Connection, ServerExtensions
from agent.memory.ranking import USUAL_COSINES, Scale
from agent.memory.understanding import token_weights

_NEAR = """
WITH every AS MATERIALIZED (
    SELECT v.memory_id AS id, 1 - (v.vector <=> %(vector)s::vector) AS cosine
    FROM memory_vectors v JOIN memories m ON m.id = v.memory_id
    WHERE v.model = %(model)s AND vector_dims(v.vector) = %(dimensions)s
        AND m.owner = ANY(%(owners)s) AND m.superseded_by IS NULL
)
SELECT id, cosine, numbers.count, numbers.mean, numbers.deviation
FROM every, (
    SELECT count(*) AS count, avg(cosine) AS mean, stddev_pop(cosine) AS deviation FROM every
) AS numbers ORDER BY cosine DESC, id DESC LIMIT %(limit)s
"""
_NOTHING = Scale(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PostgresNear:
    """Cosines and closeness of memories to a question, by id; `scale` is of all cosines."""

    cosines: Mapping[int, float] = field(default_factory=dict)
    closeness: Mapping[int, float] = field(default_factory=dict)
    scale: Scale = _NOTHING


async def nearest(
    connection: Connection, question: PostgresQuestion, abilities: ServerExtensions, limit: int
) -> PostgresNear:
    """Return the nearest visible memories; none where the server cannot tell."""
    if question.reading is None or not abilities.vectors:
        return PostgresNear()
    vector = question.reading.vector.tolist()
    found = await connection.execute(
        _NEAR,
        {
            "vector": vectors.literal(vector),
            "dimensions": len(vector),
            "model": question.model,
            "owners": owners_of(question.scope),
            "limit": limit,
        },
    )
    near = [tuple(map(_number, row)) for row in await found.fetchall()]
    if not near:
        return PostgresNear()
    count, mean, deviation = near[0][2:]
    scale = Scale.of_spread(int(count), mean, deviation, USUAL_COSINES)
    return PostgresNear({int(row[0]): row[1] for row in near}, scale=scale)


async def known(
    connection: Connection,
    question: PostgresQuestion,
    memory_ids: Sequence[int],
    weights: Mapping[str, float],
) -> PostgresNear:
    """Return what this model's readings of these memories tell."""
    reading = question.reading
    if reading is None:
        return PostgresNear()
    from agent.memory import closeness  # noqa: PLC0415 - numpy, which a reading has loaded
    from agent.memory.vectors import decoded  # noqa: PLC0415 - the same

    stored = await vectors.stored(connection, question.model, memory_ids)
    cosines = {
        memory_id: float(decoded(one.vector) @ reading.vector)
        for memory_id, one in stored.items()
        if len(decoded(one.vector)) == len(reading.vector)
    }
    close: Mapping[int, float] = {}
    if reading.spans:
        asked = closeness.AskedWords(
            reading.tokens, token_weights(question.text, reading.spans, weights)
        )
        packed = {one: kept.tokens for one, kept in stored.items() if kept.tokens is not None}
        close = closeness.closest(asked, packed)
    return PostgresNear(cosines, close, Scale.of_values(cosines.values(), USUAL_COSINES))


def _number(value: object) -> float:
    return float(str(value))
