"""Finding memories by their words: BM25 over the word index of `brain.db`."""

import json
import math
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# As if every store held this many memories about something else: in a small one, words that all
# memories share still count for something
_UNRELATED_MEMORIES = 20

_HITS = """
WITH hit AS MATERIALIZED (
    SELECT entries.id, -bm25(memory_words) AS strength
    FROM memory_words JOIN entries ON entries.id = memory_words.rowid
    WHERE memory_words MATCH :asked AND entries.owner IN (SELECT value FROM json_each(:owners))
)
SELECT id, strength,
    (SELECT count(*) FROM hit), (SELECT sum(strength) FROM hit),
    (SELECT sum(strength * strength) FROM hit)
FROM hit
WHERE id IN (SELECT value FROM json_each(:also))
    OR id IN (SELECT id FROM hit ORDER BY strength DESC, id DESC LIMIT :limit)
"""
_MATCHES = """
SELECT count(*), json_group_array(rowid) FILTER (
    WHERE rowid IN (SELECT value FROM json_each(:candidates))
)
FROM memory_words WHERE memory_words MATCH :asked
"""


@dataclass(frozen=True, slots=True)
class WordHits:
    """The strongest matches, and enough of all matches to put them on a scale.

    Args:
        strengths: BM25 by memory; what is not in it matches weakly or not at all.
        count, total, squares: of the strengths of all matches.
    """

    strengths: Mapping[int, float]
    count: int = 0
    total: float = 0.0
    squares: float = 0.0


def search(
    db: sqlite3.Connection,
    asked: Sequence[str],
    owners: Sequence[str],
    limit: int,
    also: Collection[int] = (),
) -> WordHits:
    """The `limit` strongest matches of any of the tokens, and those among `also`."""
    if not asked:
        return WordHits({})
    rows = db.execute(
        _HITS,
        {
            "asked": " OR ".join(map(_quoted, asked)),
            "owners": json.dumps(list(owners)),
            "also": json.dumps(list(also)),
            "limit": limit,
        },
    ).fetchall()
    if not rows:
        return WordHits({})
    _, _, count, total, squares = rows[0]
    return WordHits({row[0]: row[1] for row in rows}, count, total, squares)


def coverage(
    db: sqlite3.Connection, asked: Sequence[str], candidates: Collection[int]
) -> dict[int, float]:
    """Which part of what was asked each candidate has, 0..1; rare tokens weigh more."""
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()
    found = dict.fromkeys(candidates, 0.0)
    whole = 0.0
    for token in asked:
        number, matching = db.execute(
            _MATCHES, {"asked": _quoted(token), "candidates": json.dumps(list(candidates))}
        ).fetchone()
        weight = math.log(1 + (newest + _UNRELATED_MEMORIES) / (number + 1))
        whole += weight
        for memory_id in json.loads(matching):
            found[memory_id] += weight
    return {memory_id: weight / whole for memory_id, weight in found.items()} if whole else found


def _quoted(token: str) -> str:
    """A token as a string of the query language, in which nothing has a meaning."""
    return '"' + token.replace('"', '""') + '"'
