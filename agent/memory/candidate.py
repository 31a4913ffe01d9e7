"""Candidate of a search: a memory with all that was measured of it."""

from msgspec import Struct

from agent.memory.base import MemoryEntry


class MemoryCandidate(Struct, frozen=True):
    """A memory that may answer the question.

    Args:
        strength: BM25; 0 when no word matches.
        coverage: which part of the asked words it has, 0..1; None when no word was asked.
        cosine: None when it, or the question, has no vector.
        closeness: of its words to those asked, about 0..1; None where they are not known.
    """

    entry: MemoryEntry
    strength: float = 0.0
    coverage: float | None = None
    cosine: float | None = None
    closeness: float | None = None
