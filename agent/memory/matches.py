"""Word matches in RAM: as `words`, and ten times as fast in a large store.

Asking the word index for nothing but the numbers of the memories that have a token is cheap; how
rare a token is and how long a memory is make the rest of BM25. Importing this module loads numpy.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from agent.memory.ranking import Scale
from agent.memory.vectors import Similarities
from agent.memory.words import LENGTH_SHARE, SATURATION, Coverage, newest, quoted, rarity

_HAVING = "SELECT group_concat(rowid) FROM memory_words WHERE memory_words MATCH ?"
# Those that have no vector (yet) and may still be seen
_WITHOUT_VECTOR = """
SELECT id, length(content) FROM entries
WHERE owner IN (SELECT value FROM json_each(?)) AND id IN (SELECT value FROM json_each(?))
"""

Ids = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Matches(Struct, frozen=True):
    """All visible memories with any of the asked tokens.

    Args:
        memory_ids: in ascending order.
        strengths: of each of them.
        having: which memories have a token, by token, in ascending order.
    """

    memory_ids: Ids
    strengths: Numbers
    having: Mapping[str, Ids]
    weights: Mapping[str, float]
    everything: int

    @property
    def scale(self) -> Scale:
        squares = float((self.strengths**2).sum())
        count = max(self.everything, len(self.memory_ids))
        return Scale.of_sums(count, float(self.strengths.sum()), squares)

    def strongest(self, limit: int) -> list[int]:
        # By strength, the newest first among equals
        best = np.lexsort((self.memory_ids, self.strengths))[::-1][:limit]
        found: list[int] = self.memory_ids[best].tolist()
        return found

    def strengths_of(self, memory_ids: Collection[int]) -> dict[int, float]:
        wanted = np.fromiter(memory_ids, np.int64, len(memory_ids))
        places, known = found_in(self.memory_ids, wanted)
        strengths = self.strengths[places[known]]
        return dict(zip(wanted[known].tolist(), strengths.tolist(), strict=True))

    def coverage(self, memory_ids: Collection[int]) -> Coverage:
        wanted = np.fromiter(memory_ids, np.int64, len(memory_ids))
        parts = np.zeros(len(wanted))
        for token, having in self.having.items():
            parts[found_in(having, wanted)[1]] += self.weights[token]
        parts /= sum(self.weights.values()) or 1.0
        return Coverage(dict(zip(wanted.tolist(), parts.tolist(), strict=True)), self.weights)


def search(
    db: sqlite3.Connection, asked: Sequence[str], owners: Sequence[str], similar: Similarities
) -> Matches:
    """Return the result of `words.search`, for stores in which most memories have a vector."""
    memories = newest(db)
    having = {token: _having(db, token) for token in asked}
    weights = {token: rarity(len(ids), memories) for token, ids in having.items()}
    matched = _union(list(having.values()))
    sums = np.zeros(len(matched))
    for token, ids in having.items():
        sums[np.searchsorted(matched, ids)] += weights[token]
    seen, lengths = _seen(db, matched, owners, similar)
    usual = similar.mean_length or (float(lengths.mean()) if len(lengths) else 0.0)
    share = 1 - LENGTH_SHARE + LENGTH_SHARE * lengths / max(1.0, usual)
    strengths = sums[seen] * (1 + SATURATION) / (1 + SATURATION * share)
    return Matches(matched[seen], strengths, having, weights, len(similar.memory_ids))


def _union(parts: Sequence[Ids]) -> Ids:
    """Return the union of ascending numbers; sorting is faster here than numpy's hashing."""
    joined = np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))
    return joined[np.diff(joined, prepend=joined[:1] - 1) > 0]


def found_in(sorted_ids: Ids, wanted: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return each wanted id's position, and if it is there."""
    if not len(sorted_ids):
        return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(sorted_ids, wanted), len(sorted_ids) - 1)
    return places, sorted_ids[places] == wanted


def _having(db: sqlite3.Connection, token: str) -> Ids:
    (ids,) = db.execute(_HAVING, [quoted(token)]).fetchone()
    return np.fromstring(ids or "", np.int64, sep=",")


def _seen(
    db: sqlite3.Connection, matched: Ids, owners: Sequence[str], similar: Similarities
) -> tuple[NDArray[np.bool_], Numbers]:
    """Return which of the matched may be seen, and their lengths."""
    places, seen = found_in(similar.memory_ids, matched)
    lengths = np.where(seen, similar.lengths[places] if len(similar.lengths) else 0, 0)
    lengths = lengths.astype(np.float64)
    unknown = matched[~found_in(similar.all_ids, matched)[1]]
    if len(unknown):
        asked = [json.dumps(list(owners)), json.dumps(unknown.tolist())]
        for memory_id, length in db.execute(_WITHOUT_VECTOR, asked):
            place = int(np.searchsorted(matched, memory_id))
            seen[place], lengths[place] = True, length
    return seen, lengths[seen]
