"""Word search in the shared brain: as `words`, by stems that the server makes.

A word that no memory has is looked for as the beginning of another, then by trigrams.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.memory.postgres.question import PostgresQuestion
from agent.memory.postgres.record import Row, owners_of
from agent.memory.postgres.schema import ServerExtensions
from agent.memory.ranking import Scale
from agent.memory.words import LENGTH_SHARE, SATURATION, UNRELATED_MEMORIES, Coverage
from agent.storage.postgres.pipeline import Connection, Cursor

# A token fits by its stem, as the beginning of a word, or nearly: a slip of the finger
_BEGINNING_FITS = 0.8
_LEAST_FUZZY_CHARS = 4
# Of English words mostly; a stem that is too short would fit anything
_ENDING = re.compile(r"(?<=[^\W\d_]{4})(?:ing|ed|es|s)\Z")
_SEEN = "m.owner = ANY(%(owners)s) AND m.superseded_by IS NULL"
# What only nearly fits is looked for where nothing else has such a word: trigrams are slow
_BY_TRIGRAMS = f"""
UNION ALL
SELECT m.id, a.n, {_BEGINNING_FITS} * word_similarity(a.token, m.words), length(m.content)
FROM lacking a JOIN memories m ON a.token <%% m.words WHERE {_SEEN}
"""  # noqa: S608 - our own constants
# BM25 for a word that is in a text once; a stem's rarity is that of `words`. By words alone a word
# gains what it does in the index of `brain.db`: one that every other memory has gains nothing.
# What only nearly fits sets no scale beside sure matches: they would stand out too far
_LEAST_GAIN = 1e-6
_HITS = f"""
WITH asked AS MATERIALIZED (
    SELECT token, n, '%% ' || beginning || '%%' AS beginning, (stems(token))[1] AS stem
    FROM unnest(%(asked)s::text[], %(beginnings)s::text[])
        WITH ORDINALITY AS t (token, beginning, n)
), by_stem AS MATERIALIZED (
    SELECT m.id, a.n, 1.0::double precision AS fit, length(m.content) AS size
    FROM asked a JOIN memories m ON m.stems @> ARRAY[a.stem] WHERE {_SEEN}
), unmet AS MATERIALIZED (
    SELECT * FROM asked WHERE n NOT IN (SELECT n FROM by_stem)
), by_pattern AS MATERIALIZED (
    SELECT m.id, a.n, {_BEGINNING_FITS}::double precision AS fit, length(m.content) AS size
    FROM unmet a JOIN memories m ON m.words LIKE a.beginning WHERE {_SEEN}
), lacking AS MATERIALIZED (
    SELECT * FROM unmet
    WHERE length(token) >= {_LEAST_FUZZY_CHARS} AND n NOT IN (SELECT n FROM by_pattern)
), fits AS MATERIALIZED (
    SELECT * FROM by_stem UNION ALL SELECT * FROM by_pattern {{by_trigrams}}
), counts AS MATERIALIZED (
    SELECT n, count(*) AS count FROM fits GROUP BY n
), frequencies AS MATERIALIZED (
    SELECT a.n, coalesce(counts.count, 0) AS count,
        (SELECT coalesce(max(id), 0) FROM memories) AS memories
    FROM asked a LEFT JOIN counts USING (n)
), rarities AS MATERIALIZED (
    SELECT n, count, memories,
        ln(1 + (memories + {UNRELATED_MEMORIES}.0) / (1 + count))::double precision AS weight
    FROM frequencies
), weights AS MATERIALIZED (
    SELECT n, weight, CASE WHEN %(is_read)s THEN weight
        WHEN memories <= 2 * count THEN {_LEAST_GAIN}
        ELSE ln((memories - count + 0.5) / (count + 0.5)) END::double precision AS gain
    FROM rarities
), sums AS MATERIALIZED (
    SELECT id, sum(fit * weight) AS covered, sum(fit * gain) AS gain, max(size) AS size,
        max(fit) >= {_BEGINNING_FITS} AS is_sure
    FROM fits JOIN weights USING (n) GROUP BY id
), usual AS MATERIALIZED (
    SELECT greatest(1, avg(size))::double precision AS size FROM sums
), hits AS MATERIALIZED (
    SELECT id, covered, gain * {1 + SATURATION} / (1 + {SATURATION}
        * ({1 - LENGTH_SHARE} + {LENGTH_SHARE} * sums.size / usual.size)) AS strength, is_sure
    FROM sums, usual
), numbers AS MATERIALIZED (
    SELECT count(*) AS count, sum(strength) AS sum, sum(strength * strength) AS squares
    FROM hits WHERE is_sure OR NOT EXISTS (SELECT FROM hits WHERE is_sure)
)
SELECT id, strength, covered, numbers.count, numbers.sum, numbers.squares,
    (SELECT array_agg(weight ORDER BY n) FROM weights), usual.size,
    (SELECT max(id) FROM memories), (SELECT array_agg(gain ORDER BY n) FROM weights)
FROM hits, numbers, usual WHERE id = ANY(%(also)s)
    OR id IN (SELECT id FROM hits ORDER BY strength DESC, id DESC LIMIT %(limit)s)
"""  # noqa: S608 - as above
# Which of the asked words some more memories have
_HAVING = """
SELECT m.id, length(m.content), array_agg(a.n)
FROM unnest(%(asked)s::text[]) WITH ORDINALITY AS a (token, n)
    JOIN memories m ON m.stems @> stems(a.token)
WHERE m.id = ANY(%(ids)s) GROUP BY m.id
"""


class PostgresHits(Struct, frozen=True):
    """Matches by words.

    Args:
        strengths: of the best.
        covered: summed weights of the asked words in each of them.
        weights: of the asked tokens.
        gains: of the asked tokens, in strength.
        usual_length: mean length of all matching texts.
        memories: highest id, which is about as many as there are; 0 where it is unknown.
    """

    strengths: Mapping[int, float]
    covered: Mapping[int, float]
    weights: Mapping[str, float]
    gains: Mapping[str, float]
    scale: Scale
    usual_length: float = 1.0
    memories: int = 0

    @property
    def coverage(self) -> Coverage:
        whole = sum(self.weights.values()) or 1.0
        return Coverage({one: sum_ / whole for one, sum_ in self.covered.items()}, self.weights)


NOTHING = PostgresHits({}, {}, {}, {}, Scale(0.0, 0.0))


async def search(
    connection: Connection,
    question: PostgresQuestion,
    abilities: ServerExtensions,
    also: Collection[int],
    limit: int,
) -> PostgresHits:
    """Return the best matches, and those of `also` that match."""
    if not question.asked:
        return NOTHING
    by_trigrams = _BY_TRIGRAMS if abilities.trigrams else ""
    found = await connection.execute(
        _HITS.format(by_trigrams=by_trigrams).encode(),
        {
            "asked": list(question.asked),
            "beginnings": list(map(_beginning, question.asked)),
            "owners": owners_of(question.scope),
            "also": list(also),
            "is_read": question.reading is not None,
            "limit": limit,
        },
    )
    matches = await found.fetchall()
    return _hits(question.asked, matches) if matches else NOTHING


async def completed(
    connection: Connection, question: PostgresQuestion, hits: PostgresHits, ids: Collection[int]
) -> PostgresHits:
    """Return the hits with these memories too: the turns around the best, for example."""
    asked = await having(connection, question, hits, ids)
    return hits if asked is None else joined(question, hits, await asked.fetchall())


async def having(
    connection: Connection, question: PostgresQuestion, hits: PostgresHits, ids: Collection[int]
) -> Cursor | None:
    """Ask which of these memories have the words; None where nothing is to be asked."""
    unknown = [one for one in ids if one not in hits.strengths]
    if not unknown or not hits.weights:
        return None
    return await connection.execute(_HAVING, {"asked": list(question.asked), "ids": unknown})


def joined(question: PostgresQuestion, hits: PostgresHits, matches: Sequence[Row]) -> PostgresHits:
    """Return the hits with the answer to `having`."""
    strengths, covered = dict(hits.strengths), dict(hits.covered)
    for memory_id, length, places in matches:
        having = [question.asked[_id(place) - 1] for place in _listed(places)]
        covered[_id(memory_id)] = sum(hits.weights[token] for token in having)
        gain = sum(hits.gains[token] for token in having)
        share = 1 - LENGTH_SHARE + LENGTH_SHARE * _number(length) / hits.usual_length
        strengths[_id(memory_id)] = gain * (1 + SATURATION) / (1 + SATURATION * share)
    return replace(hits, strengths=strengths, covered=covered)


def _hits(asked: Sequence[str], matches: Sequence[Row]) -> PostgresHits:
    count, total, squares = map(_number, matches[0][3:6])
    weights, gains = (map(_number, _listed(matches[0][column])) for column in (6, 9))
    return PostgresHits(
        {_id(row[0]): _number(row[1]) for row in matches},
        {_id(row[0]): _number(row[2]) for row in matches},
        dict(zip(asked, weights, strict=True)),
        dict(zip(asked, gains, strict=True)),
        Scale.of_sums(int(count), total, squares),
        _number(matches[0][7]),
        _id(matches[0][8]),
    )


def _beginning(token: str) -> str:
    """Return the common beginning of a word's forms, as far as an ending reveals it."""
    return _ENDING.sub("", token)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _id(value: object) -> int:
    return int(str(value))


def _number(value: object) -> float:
    return float(str(value))
