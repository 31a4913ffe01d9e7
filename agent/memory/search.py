"""Search in `brain.db`: find by words and vectors, widen, inspect, rank."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agent.embeddings.base import PassageReading
from agent.memory import rows, sessions, words
from agent.memory.base import MemoryEntry, Scope
from agent.memory.candidate import MemoryCandidate
from agent.memory.cues import cues_of
from agent.memory.ranking import (
    CANDIDATES,
    FOUND,
    USUAL_COSINES,
    RankedMemory,
    Scale,
    Scales,
    rank,
)
from agent.memory.sessions import SessionTurn
from agent.memory.text import asked_tokens, tokens
from agent.memory.times import TimeSpan
from agent.memory.understanding import token_weights, understood
from agent.messages import Provenance

# Below it nobody vouches for what is said
TRUSTED = Provenance.USER
# Newest memories of people that are looked at when a flood has taken every place
MAX_PEOPLES = 5000
# What is said more often than that is a repetition
TOLD_TWICE = 2
# Contents that share this part of all their words say the same
_SAME = 0.6
# A memory is known by its beginning
_COMPARED_TOKENS = 64
# "Yesterday the boiler broke" is told a day or two after it
TOLD_LATER_S = 2 * 86_400.0
_TRUSTED_NAMES = json.dumps([one.name.lower() for one in Provenance if one >= TRUSTED])


def is_flooded(candidates: Sequence[SessionTurn], places: int) -> bool:
    """Return true if these fill every place and no person vouches for any of them."""
    return len(candidates) >= places and all(one.provenance < TRUSTED for one in candidates)


def of_people(db: sqlite3.Connection, scope: Scope) -> list[int]:
    """Return the newest memories that people vouch for."""
    found = db.execute(
        "SELECT id FROM entries WHERE owner IN (SELECT value FROM json_each(?))"
        " AND provenance IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?",
        [json.dumps(scope.owners), _TRUSTED_NAMES, MAX_PEOPLES],
    )
    return [row[0] for row in found]


def _said_then(db: sqlite3.Connection, span: TimeSpan, scope: Scope) -> list[int]:
    """Return the newest memories that were said in that time or a little later."""
    found = db.execute(
        "SELECT id FROM entries WHERE owner IN (SELECT value FROM json_each(?))"
        " AND created_at_s >= ? AND created_at_s < ? ORDER BY created_at_s DESC LIMIT ?",
        [json.dumps(scope.owners), span.start_s, span.end_s + TOLD_LATER_S, CANDIDATES],
    )
    return [row[0] for row in found]


def spread(ranked: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Move untrusted repetitions behind all other memories."""
    said: list[frozenset[str]] = []
    first: list[RankedMemory] = []
    repeated: list[RankedMemory] = []
    for one in ranked:
        if one.entry.provenance >= TRUSTED:
            first.append(one)
            continue
        words = frozenset(list(tokens(one.entry.content))[:_COMPARED_TOKENS])
        if sum(_are_alike(words, other) for other in said) < TOLD_TWICE:
            first.append(one)
            said.append(words)
        else:
            repeated.append(one)
    # What stands behind another is no more relevant than it
    lowest = min((one.score for one in first), default=1.0)
    return [*first, *(replace(one, score=min(one.score, lowest)) for one in repeated)]


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * len(one | other)


if TYPE_CHECKING:
    from agent.memory.matches import Matches
    from agent.memory.vectors import Similarities
    from agent.memory.words import Hits

# Longer questions are searched by their first telling words: each one costs a look at the index
MAX_ASKED_TOKENS = 32
# Memories of people that are looked at besides when untrusted ones have taken every place
PEOPLES = 20


class MemoryQuestion(Struct, frozen=True):
    """A question with its asker; `similar`, `reading` and `model` are set if there is a model."""

    text: str
    scope: Scope
    similar: "Similarities | None" = None
    reading: PassageReading | None = None
    model: str = ""
    # When it is asked; None where that does not matter
    now_s: float | None = None


def find(db: sqlite3.Connection, question: MemoryQuestion, limit: int) -> list[MemoryEntry]:
    """Return the most relevant visible memories with scores."""
    search = _Search(db, question)
    best = search.best()
    if is_flooded(best, CANDIDATES):
        best += search.best_of_people()
    cues = cues_of(question.text, question.now_s)
    if cues.span is not None:
        best += sessions.turns(db, _said_then(db, cues.span, question.scope))
    around = sessions.around(db, best)
    candidates = search.looked_at(around.memory_ids)
    ranked = spread(rank(candidates, search.scales, cues, around))
    return [replace(one.entry, score=one.score) for one in ranked[: max(0, limit)]]


class _Search:
    """Search for the answer to one question."""

    def __init__(self, db: sqlite3.Connection, question: MemoryQuestion) -> None:
        self._db = db
        self._question = question
        self._similar = question.similar
        self._asked = asked_tokens(question.text, MAX_ASKED_TOKENS)
        self._hits = self._searched()
        self.scales = Scales(
            self._hits.scale,
            self._meaning_scale(),
            understood(question.text, question.reading),
            words.newest(db),
        )

    def best(self) -> list[SessionTurn]:
        """Return the memories that stand out most by words and vector together."""
        near = {} if self._similar is None else self._similar.nearest(FOUND)
        return self._standing_out({*self._hits.strongest(FOUND), *near}, CANDIDATES)

    def best_of_people(self) -> list[SessionTurn]:
        """Return the best among the memories that people vouch for."""
        return self._standing_out(of_people(self._db, self._question.scope), PEOPLES)

    def _standing_out(self, ids: Collection[int], limit: int) -> list[SessionTurn]:
        strengths, cosines = self._hits.strengths_of(ids), self._cosines(ids)
        standing = {
            one: self.scales.of(strengths.get(one, 0.0), self._any_words, cosines.get(one))
            for one in ids
        }
        best = nlargest(limit, standing, key=lambda one: (standing[one], one))
        return sessions.turns(self._db, best)

    def looked_at(self, memory_ids: Collection[int]) -> list[MemoryCandidate]:
        """Return everything that is known of these memories."""
        entries = rows.by_id(self._db, memory_ids, self._question.scope)
        strengths, cosines = self._hits.strengths_of(entries), self._cosines(entries)
        covered = self._hits.coverage(entries)
        close = self._closeness(entries, covered.weights)
        return [
            MemoryCandidate(
                entry,
                strengths.get(memory_id, 0.0),
                covered.parts.get(memory_id) if self._asked else None,
                cosines.get(memory_id),
                close.get(memory_id),
            )
            for memory_id, entry in entries.items()
        ]

    def _searched(self) -> "Hits | Matches":
        owners = self._question.scope.owners
        if self._similar is None:
            return words.search(self._db, self._asked, owners)
        from agent.memory import matches  # noqa: PLC0415 - numpy, which a vector has loaded

        return matches.search(self._db, self._asked, owners, self._similar)

    def _cosines(self, memory_ids: Collection[int]) -> dict[int, float]:
        return {} if self._similar is None else self._similar.of(memory_ids)

    @property
    def _any_words(self) -> float | None:
        """Return an unknown coverage, or None if no word was asked."""
        return 0.0 if self._asked else None

    def _closeness(
        self, memory_ids: Collection[int], weights: Mapping[str, float]
    ) -> dict[int, float]:
        reading = self._question.reading
        if reading is None or not reading.spans:
            return {}
        from agent.memory import closeness  # noqa: PLC0415 - numpy, which a reading has loaded

        weighed = token_weights(self._question.text, reading.spans, weights)
        asked = closeness.AskedWords(reading.tokens, weighed)
        stored = rows.tokens_of(self._db, memory_ids, self._question.model)
        return closeness.closest(asked, stored)

    def _meaning_scale(self) -> Scale:
        similar = self._similar
        if similar is None:
            return Scale(0.0, 0.0)
        count = len(similar.memory_ids)
        return Scale.of_spread(count, similar.mean, similar.deviation, USUAL_COSINES)
