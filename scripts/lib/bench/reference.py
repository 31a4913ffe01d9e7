"""Baselines of the memory bench: the reference algorithm, BM25 alone and vectors alone.

The reference splits a question at its spaces, quotes each piece, joins them by OR, asks FTS5 with
unicode61, divides by the largest BM25, and adds 0.7 of the cosine to 0.3 of that.
"""

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scripts.lib.bench.datasets import Document

MEANING_SHARE = 0.7
WORDS_SHARE = 0.3
# Of each kind, as the reference takes them for an answer of ten
_FOUND = 40

Vectors = NDArray[np.float32]


class ReferenceStore:
    """The documents of one store, as the reference keeps them."""

    def __init__(self, documents: Sequence[Document], vectors: Vectors) -> None:
        self._documents = documents
        self._vectors = vectors
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
        self._db.executemany(
            "INSERT INTO words (rowid, content) VALUES (?, ?)",
            [(place, document.text) for place, document in enumerate(documents)],
        )

    def close(self) -> None:
        self._db.close()

    def hybrid(self, question: str, vector: Vectors, limit: int) -> list[str]:
        """By 0.7 cosine and 0.3 BM25."""
        words = self._strengths(question)
        largest = max(words.values(), default=1.0) or 1.0
        cosines = self._cosines(vector)
        near = [int(place) for place in np.argsort(-cosines, kind="stable")[:_FOUND]]
        scores = {place: MEANING_SHARE * float(max(0.0, cosines[place])) for place in near}
        for place, strength in words.items():
            scores[place] = scores.get(place, 0.0) + WORDS_SHARE * strength / largest
        return self._named(sorted(scores, key=scores.__getitem__, reverse=True)[:limit])

    def by_words(self, question: str, limit: int) -> list[str]:
        return self._named(list(self._strengths(question))[:limit])

    def by_vectors(self, vector: Vectors, limit: int) -> list[str]:
        order = np.argsort(-self._cosines(vector), kind="stable")[:limit]
        return self._named([int(place) for place in order])

    def _cosines(self, vector: Vectors) -> Vectors:
        cosines: Vectors = self._vectors @ vector
        return cosines

    def _strengths(self, question: str) -> dict[int, float]:
        pieces = (piece.replace('"', '""') for piece in question.split())
        asked = " OR ".join(f'"{piece}"' for piece in pieces)
        if not asked:
            return {}
        found = self._db.execute(
            "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY 2 DESC LIMIT ?",
            [asked, _FOUND],
        )
        return dict(found.fetchall())

    def _named(self, places: Sequence[int]) -> list[str]:
        return [self._documents[place].document_id for place in places]
