"""Word search: BM25 over the word index of `brain.db`."""

import json
import math
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest

from msgspec import Struct

from agent.memory.ranking import Scale

# As if every store held this many memories about something else: in a small one, words that all
# memories share still count for something
UNRELATED_MEMORIES = 20
# The usual constants of BM25, for a word that is in a text once
SATURATION = 1.2
LENGTH_SHARE = 0.75

_HITS = """
SELECT entries.id, -bm25(memory_words)
FROM memory_words JOIN entries ON entries.id = memory_words.rowid
WHERE memory_words MATCH :asked AND entries.owner IN (SELECT value FROM json_each(:owners))
"""
_MATCHES = """
SELECT count(*), json_group_array(rowid) FILTER (
    WHERE rowid IN (SELECT value FROM json_each(:candidates))
)
FROM memory_words WHERE memory_words MATCH :asked
"""


class Coverage(Struct, frozen=True):
    """Share of the asked words in some memories.

    Args:
        parts: by memory, 0..1; rare tokens weigh more.
        weights: of the asked tokens.
    """

    parts: Mapping[int, float]
    weights: Mapping[str, float]


class Hits(Struct, frozen=True):
    """Strength (BM25) of each match, by memory."""

    db: sqlite3.Connection
    asked: Sequence[str]
    strengths: Mapping[int, float]

    @property
    def scale(self) -> Scale:
        strengths = self.strengths.values()
        squares = math.fsum(value * value for value in strengths)
        return Scale.of_sums(len(strengths), math.fsum(strengths), squares)

    def strongest(self, limit: int) -> list[int]:
        return nlargest(limit, self.strengths, key=lambda one: (self.strengths[one], one))

    def strengths_of(self, memory_ids: Collection[int]) -> dict[int, float]:
        return {one: self.strengths[one] for one in memory_ids if one in self.strengths}

    def coverage(self, memory_ids: Collection[int]) -> Coverage:
        return coverage(self.db, self.asked, memory_ids)


def search(db: sqlite3.Connection, asked: Sequence[str], owners: Sequence[str]) -> Hits:
    """Return every match that these owners may see."""
    if not asked:
        return Hits(db, asked, {})
    rows = db.execute(
        _HITS,
        {"asked": " OR ".join(map(quoted, asked)), "owners": json.dumps(list(owners))},
    )
    return Hits(db, asked, dict(rows.fetchall()))


def coverage(db: sqlite3.Connection, asked: Sequence[str], candidates: Collection[int]) -> Coverage:
    """Return the share of the asked words in each candidate."""
    memories = newest(db)
    found = dict.fromkeys(candidates, 0.0)
    weights: dict[str, float] = {}
    for token in asked:
        number, matching = db.execute(
            _MATCHES, {"asked": quoted(token), "candidates": json.dumps(list(candidates))}
        ).fetchone()
        weights[token] = rarity(number, memories)
        for memory_id in json.loads(matching):
            found[memory_id] += weights[token]
    whole = sum(weights.values()) or 1.0
    return Coverage({one: weight / whole for one, weight in found.items()}, weights)


def newest(db: sqlite3.Connection) -> int:
    """Return the highest id: about as many memories there are, and nothing is counted."""
    (highest,) = db.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()
    return int(highest)


def rarity(number: int, memories: int) -> float:
    """Return the weight of a token that so many of the memories have."""
    return math.log(1 + (memories + UNRELATED_MEMORIES) / (number + 1))


def quoted(token: str) -> str:
    """Quote a token for the query language."""
    return '"' + token.replace('"', '""') + '"'
