"""Answering a question from `brain.db`: words and vectors found, joined, ranked."""

import sqlite3
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.memory import rows, words
from agent.memory.base import MemoryEntry, Scope
from agent.memory.ranking import CANDIDATES, Candidate, Scale, rank
from agent.memory.text import asked_tokens
from agent.memory.words import WordHits

if TYPE_CHECKING:
    from agent.memory.vectors import Similarities

# Longer questions are searched by their first telling words: each one costs a look at the index
MAX_ASKED_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, by whom; `similar` is None without a model."""

    text: str
    scope: Scope
    similar: "Similarities | None" = None


def find(db: sqlite3.Connection, question: Question, limit: int) -> list[MemoryEntry]:
    """The most relevant memories that the scope may see, scored."""
    asked = asked_tokens(question.text, MAX_ASKED_TOKENS)
    similar = question.similar
    near = {} if similar is None else similar.nearest(CANDIDATES)
    hits = words.search(db, asked, question.scope.owners, CANDIDATES, also=near)
    ids = near.keys() | hits.strengths.keys()
    cosines = {} if similar is None else similar.of(ids)
    covered = words.coverage(db, asked, ids) if asked else {}
    candidates = [
        Candidate(
            memory_id,
            hits.strengths.get(memory_id, 0.0),
            covered.get(memory_id),
            cosines.get(memory_id),
        )
        for memory_id in ids
    ]
    ranked = rank(candidates, _scale(hits, similar), _meaning(similar))
    entries = rows.by_id(db, ids, question.scope)
    seen = [one for one in ranked if one.memory_id in entries]
    return [replace(entries[one.memory_id], score=one.score) for one in seen[: max(0, limit)]]


def _scale(hits: WordHits, similar: "Similarities | None") -> Scale:
    """The scale of BM25 over all memories: those that no word matches have none of it."""
    everything = hits.count if similar is None else max(hits.count, len(similar.memory_ids))
    return Scale.of_sums(everything, hits.total, hits.squares)


def _meaning(similar: "Similarities | None") -> Scale:
    return Scale(0.0, 0.0) if similar is None else Scale(similar.mean, similar.deviation)
