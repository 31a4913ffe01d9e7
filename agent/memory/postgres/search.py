"""Search in the shared brain: find by words and vectors, widen, inspect, rank.

The server finds and counts; which memories are looked at, and their order, are decided as for
`brain.db`. Without pgvector words alone find, and the model helps to rank what they found.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agent.memory import sessions
from agent.memory.base import MemoryEntry
from agent.memory.candidate import MemoryCandidate
from agent.memory.cues import cues_of
from agent.memory.postgres import hits, neighbours, rows, vectors
from agent.memory.postgres.hits import PostgresHits
from agent.memory.postgres.neighbours import PostgresTurn
from agent.memory.postgres.question import PostgresQuestion
from agent.memory.postgres.record import entry_of, owners_of
from agent.memory.postgres.schema import ServerExtensions
from agent.memory.ranking import CANDIDATES, FOUND, USUAL_COSINES, Scale, Scales, rank
from agent.memory.search import PEOPLES, is_flooded, spread
from agent.memory.understanding import token_weights, understood
from agent.storage.postgres.pipeline import Connection

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


class PostgresNear(Struct, frozen=True):
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


def known_meaning(
    question: PostgresQuestion,
    stored: Mapping[int, vectors.StoredReading],
    weights: Mapping[str, float],
) -> PostgresNear:
    """Return what this model's readings of these memories tell."""
    reading = question.reading
    if reading is None:
        return PostgresNear()
    from agent.memory import closeness  # noqa: PLC0415 - numpy, which a reading has loaded
    from agent.memory.vectors import decoded  # noqa: PLC0415 - the same

    whole = {memory_id: decoded(one.vector) for memory_id, one in stored.items()}
    cosines = {
        memory_id: float(vector @ reading.vector)
        for memory_id, vector in whole.items()
        if len(vector) == len(reading.vector)
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


async def find(
    connection: Connection, question: PostgresQuestion, abilities: ServerExtensions, limit: int
) -> list[MemoryEntry]:
    """Return the most relevant visible memories with scores."""
    near = await nearest(connection, question, abilities, FOUND)
    found = await hits.search(connection, question, abilities, list(near.cosines), FOUND)
    search = _PostgresSearch(connection, question, near, found)
    best = await search.best()
    if is_flooded([one.turn for one in best], CANDIDATES):
        best += await search.best_of_people()
    cues = cues_of(question.text, question.now_s)
    if cues.span is not None:
        then = await neighbours.said_then(connection, cues.span, question.scope)
        known = {one.turn.memory_id for one in best}
        best += await neighbours.turns(connection, [one for one in then if one not in known])
    around = sessions.joined(one.window for one in best)
    candidates = await search.looked_at(around.memory_ids)
    memories = found.memories or await rows.highest_id(connection)
    scales = replace(search.scales, memories=memories)
    ranked = spread(rank(candidates, scales, cues, around))
    return [replace(one.entry, score=one.score) for one in ranked[: max(0, limit)]]


class _PostgresSearch:
    """Search for the answer to one question."""

    def __init__(
        self,
        connection: Connection,
        question: PostgresQuestion,
        near: PostgresNear,
        found: PostgresHits,
    ) -> None:
        self._connection = connection
        self._question = question
        self._near = near
        self._hits = found
        self.scales = Scales(found.scale, near.scale, understood(question.text, question.reading))

    async def best(self) -> list[PostgresTurn]:
        """Return the memories that stand out most by words and vector together."""
        ids = self._near.cosines.keys() | self._hits.strengths.keys()
        return await self._standing_out(ids, self._hits, CANDIDATES)

    async def best_of_people(self) -> list[PostgresTurn]:
        """Return the best among the memories that people vouch for."""
        ids = await neighbours.of_people(self._connection, self._question.scope)
        found = await hits.completed(self._connection, self._question, self._hits, ids)
        return await self._standing_out(ids, found, PEOPLES)

    async def looked_at(self, memory_ids: Collection[int]) -> list[MemoryCandidate]:
        """Return everything that is known of these memories."""
        question, ids = self._question, list(memory_ids)
        # All three on one way there and back
        async with self._connection.pipeline():
            texts = await rows.asked_for(self._connection, ids, question.scope)
            words = await hits.having(self._connection, question, self._hits, ids)
            kept = await vectors.asked_for(self._connection, question.model, ids)
        entries = {one.memory_id: one for one in map(entry_of, await texts.fetchall())}
        found = self._hits
        if words is not None:
            found = hits.joined(question, found, await words.fetchall())
        covered = found.coverage
        known = known_meaning(question, vectors.stored(await kept.fetchall()), covered.weights)
        if not self._near.cosines:
            self.scales = replace(self.scales, meaning=known.scale)
        return [
            MemoryCandidate(
                entry,
                found.strengths.get(memory_id, 0.0),
                covered.parts.get(memory_id, 0.0) if question.asked else None,
                known.cosines.get(memory_id, self._near.cosines.get(memory_id)),
                known.closeness.get(memory_id),
            )
            for memory_id, entry in entries.items()
        ]

    async def _standing_out(
        self, ids: Collection[int], found: PostgresHits, limit: int
    ) -> list[PostgresTurn]:
        any_words = 0.0 if self._question.asked else None
        standing = {
            one: self.scales.of(
                found.strengths.get(one, 0.0), any_words, self._near.cosines.get(one)
            )
            for one in ids
        }
        best: Sequence[int] = sorted(ids, key=lambda one: (standing[one], one), reverse=True)
        return await neighbours.turns(self._connection, best[:limit])
