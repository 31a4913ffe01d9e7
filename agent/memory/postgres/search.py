"""Search in the shared brain: words by trigrams or patterns, meaning by pgvector.

The server finds and counts; `ranking` orders, as it does for every other store.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.memory.base import MemoryEntry, Scope
from agent.memory.candidate import MemoryCandidate
from agent.memory.cues import cues_of
from agent.memory.postgres import rows, vectors
from agent.memory.postgres.schema import Connection, ServerExtensions
from agent.memory.ranking import CANDIDATES, Scale, Scales, rank
from agent.memory.sessions import MemoryNeighbours
from agent.memory.text import asked_tokens

# Longer questions are searched by their first telling words: each one costs a look at the index
MAX_ASKED_TOKENS = 32
# A token fits whole, as the beginning of a word, or nearly: endings and slips of the finger
_BEGINNING_FITS = 0.8
_LEAST_FUZZY_CHARS = 4
# Of English words mostly; a stem that is too short would fit anything
_ENDING = re.compile(r"(?<=[^\W\d_]{4})(?:ing|ed|es|s)\Z")
_SEEN = "m.owner = ANY(%(owners)s) AND m.superseded_by IS NULL"
# What only nearly fits is looked for where nothing else has such a word: trigrams are slow
_BY_TRIGRAMS = f"""
UNION ALL
SELECT m.id, a.n, {_BEGINNING_FITS} * word_similarity(a.token, m.words), length(m.words)
FROM asked a JOIN memories m ON a.token <%% m.words
WHERE {_SEEN} AND length(a.token) >= {_LEAST_FUZZY_CHARS}
    AND NOT EXISTS (SELECT 1 FROM by_pattern p WHERE p.n = a.n)
"""  # noqa: S608 - our own constants
# Rare words weigh more; a long memory has many words by chance, so it gets a little less
_HITS = f"""
WITH asked AS MATERIALIZED (
    SELECT token, n, '%% ' || token || ' %%' AS whole, '%% ' || beginning || '%%' AS beginning
    FROM unnest(%(asked)s::text[], %(beginnings)s::text[])
        WITH ORDINALITY AS t (token, beginning, n)
), by_pattern AS MATERIALIZED (
    SELECT m.id, a.n, length(m.words) AS size,
        CASE WHEN m.words LIKE a.whole THEN 1.0::double precision
            ELSE {_BEGINNING_FITS} END AS fit
    FROM asked a JOIN memories m ON m.words LIKE a.beginning WHERE {_SEEN}
), fits AS MATERIALIZED (
    SELECT id, n, fit, size FROM by_pattern {{by_trigrams}}
), counts AS MATERIALIZED (
    SELECT n, count(*) AS count FROM fits GROUP BY n
), weights AS MATERIALIZED (
    SELECT a.n, ln(1 + ((SELECT count(*) FROM memories m WHERE {_SEEN}) + 20.0)
        / (1 + coalesce(counts.count, 0)))::double precision AS weight
    FROM asked a LEFT JOIN counts USING (n)
), hits AS MATERIALIZED (
    SELECT id, sum(fit * weight) / ln(2.7 + max(size) / 100.0)::double precision AS strength,
        sum(fit * weight) / (SELECT sum(weight) FROM weights) AS coverage
    FROM fits JOIN weights USING (n) GROUP BY id
), numbers AS MATERIALIZED (
    SELECT count(*) AS count, sum(strength) AS sum, sum(strength * strength) AS squares FROM hits
)
SELECT id, strength, coverage, numbers.count, numbers.sum, numbers.squares
FROM hits, numbers WHERE id = ANY(%(also)s)
    OR id IN (SELECT id FROM hits ORDER BY strength DESC, id DESC LIMIT %(limit)s)
"""  # noqa: S608 - as above
_NEAR = f"""
WITH every AS MATERIALIZED (
    SELECT v.memory_id AS id, 1 - (v.vector <=> %(vector)s::vector) AS cosine
    FROM memory_vectors v JOIN memories m ON m.id = v.memory_id
    WHERE v.model = %(model)s AND vector_dims(v.vector) = %(dimensions)s AND {_SEEN}
)
SELECT id, cosine, (SELECT avg(cosine) FROM every), (SELECT stddev_pop(cosine) FROM every)
FROM every ORDER BY cosine DESC, id DESC LIMIT %(limit)s
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class PostgresQuestion:
    """A question with its scope; `vector` is None if words must do."""

    text: str
    scope: Scope
    vector: Sequence[float] | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Near:
    """Nearest memories in meaning, and the scale of all cosines."""

    cosines: dict[int, float]
    scale: Scale


@dataclass(frozen=True, slots=True)
class _Hits:
    """Matches by words: strength and coverage by id, and the scale of all strengths."""

    strengths: dict[int, float]
    coverages: dict[int, float]
    scale: Scale


async def find(
    connection: Connection, question: PostgresQuestion, abilities: ServerExtensions, limit: int
) -> list[MemoryEntry]:
    """Return the most relevant visible memories with scores."""
    asked = asked_tokens(question.text, MAX_ASKED_TOKENS)
    near = await _near(connection, question)
    hits = await _hits(connection, question, asked, abilities, list(near.cosines))
    ids = near.cosines.keys() | hits.strengths.keys()
    nothing = None if not asked else 0.0
    entries = await rows.by_id(connection, list(ids), question.scope)
    candidates = [
        MemoryCandidate(
            entry,
            hits.strengths.get(memory_id, 0.0),
            hits.coverages.get(memory_id, nothing),
            near.cosines.get(memory_id),
        )
        for memory_id, entry in entries.items()
    ]
    scales = Scales(hits.scale, near.scale)
    around = MemoryNeighbours(frozenset(entries))
    ranked = rank(candidates, scales, cues_of(question.text), around)
    return [replace(one.entry, score=one.score) for one in ranked[: max(0, limit)]]


async def _near(connection: Connection, question: PostgresQuestion) -> _Near:
    if question.vector is None:
        return _Near({}, Scale(0.0, 0.0))
    found = await connection.execute(
        _NEAR,
        {
            "vector": vectors.literal(question.vector),
            "dimensions": len(question.vector),
            "model": question.model,
            "owners": rows.owners_of(question.scope),
            "limit": CANDIDATES,
        },
    )
    nearest = [tuple(map(_number, row)) for row in await found.fetchall()]
    if not nearest:
        return _Near({}, Scale(0.0, 0.0))
    return _Near({int(row[0]): row[1] for row in nearest}, Scale(*nearest[0][2:]))


async def _hits(
    connection: Connection,
    question: PostgresQuestion,
    asked: Sequence[str],
    abilities: ServerExtensions,
    also: Sequence[int],
) -> _Hits:
    if not asked:
        return _Hits({}, {}, Scale(0.0, 0.0))
    by_trigrams = _BY_TRIGRAMS if abilities.trigrams else ""
    found = await connection.execute(
        _HITS.format(by_trigrams=by_trigrams).encode(),
        {
            "asked": list(asked),
            "beginnings": list(map(_beginning, asked)),
            "owners": rows.owners_of(question.scope),
            "also": list(also),
            "limit": CANDIDATES,
        },
    )
    matches = [tuple(map(_number, row)) for row in await found.fetchall()]
    if not matches:
        return _Hits({}, {}, Scale(0.0, 0.0))
    count, total, squares = matches[0][3:]
    return _Hits(
        {int(row[0]): row[1] for row in matches},
        {int(row[0]): row[2] for row in matches},
        Scale.of_sums(int(count), total, squares),
    )


def _beginning(token: str) -> str:
    """Return the common beginning of a word's forms, as far as an ending reveals it."""
    return _ENDING.sub("", token)


def _number(value: object) -> float:
    return float(str(value))
