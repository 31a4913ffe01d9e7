"""Vectors of all memories in RAM, scanned exactly: int8 with a scale for each row.

Importing this module loads numpy. Belongs to the thread of the database; rebuilt from its table
when another program has written there.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

# Of what is stored: half the bytes of 32-bit floats, and no loss that a ranking could see. Nor is
# there one in int8: of the best 100 it keeps 99 %, and with floats instead R@1, R@5 and R@10 of
# conversations and sentences are the same to the hundredth, so nothing is scored again
_STORED = np.dtype("<f2")
_LARGEST_INT8 = 127
# Rows that are widened to floats at a time: 0.8 MB, which stays in a processor's cache
_BLOCK_ROWS = 512
_FIRST_CAPACITY = 64
# Up to so many rows every cosine is computed; beyond, that would take longer than all the rest,
# and signs choose which ones are: of the best 100 they keep 95 or more among so many times as many
EXACT_ROWS = 16_384
_RESCORED = 20
_SIGNS_PER_WORD = 64

# In pieces by id: other questions are answered between them
_READ = """
SELECT entries.id, entries.owner, v.vector, length(entries.content)
FROM memory_vectors AS v JOIN entries ON entries.id = v.memory_id
WHERE v.model = ? AND v.memory_id > ? ORDER BY v.memory_id LIMIT ?
"""

Vector = NDArray[np.float32]


class Similarities(Struct, frozen=True):
    """Cosines between a question and every visible vector.

    Args:
        memory_ids: in ascending order; the others go with them.
        cosines: exact in a small store, else estimated from the signs of the numbers.
        lengths: of the texts.
        all_ids: of every vector, whoever may see it, in ascending order.
        exact: the exact cosines at some places.
    """

    memory_ids: NDArray[np.int64]
    cosines: Vector
    lengths: Vector
    all_ids: NDArray[np.int64]
    exact: Callable[[NDArray[np.intp]], Vector]

    @property
    def mean(self) -> float:
        return float(self.cosines.mean(dtype=np.float64)) if len(self.cosines) else 0.0

    @property
    def deviation(self) -> float:
        return float(self.cosines.std(dtype=np.float64)) if len(self.cosines) else 0.0

    @property
    def mean_length(self) -> float:
        return float(self.lengths.mean(dtype=np.float64)) if len(self.lengths) else 0.0

    def nearest(self, limit: int) -> dict[int, float]:
        """Return the nearest by exact cosines, chosen among many more by estimates."""
        if not limit or not len(self.cosines):
            return {}
        places = _largest(self.cosines, limit * _RESCORED)
        cosines = self.exact(places)
        best = _largest(cosines, limit)
        return self._named(places[best], cosines[best])

    def of(self, memory_ids: Iterable[int]) -> dict[int, float]:
        """Return the cosines of those memories that have a vector."""
        wanted = np.sort(np.fromiter(memory_ids, np.int64))
        places = np.searchsorted(self.memory_ids, wanted)
        inside = places < len(self.memory_ids)
        places, wanted = places[inside], wanted[inside]
        known = places[self.memory_ids[places] == wanted]
        return self._named(known, self.exact(known))

    def _named(self, places: NDArray[np.intp], cosines: Vector) -> dict[int, float]:
        return dict(zip(self.memory_ids[places].tolist(), cosines.tolist(), strict=True))


def _largest(values: Vector, limit: int) -> NDArray[np.intp]:
    if limit >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, limit - 1)[:limit]


def _signs(vector: Vector) -> NDArray[np.uint64]:
    """Return one bit for each number, in words of 64."""
    packed = np.packbits(vector > 0)
    words = np.zeros(-(-len(vector) // _SIGNS_PER_WORD), np.uint64)
    words.view(np.uint8)[: len(packed)] = packed
    return words


def encode(vector: Vector) -> bytes:
    return vector.astype(_STORED).tobytes()


def decoded(stored: bytes) -> Vector:
    """Return the vector of `encode`."""
    return np.frombuffer(stored, _STORED).astype(np.float32)


class VectorIndex:
    """All vectors of one model."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self._dimensions = dimensions
        self._order: NDArray[np.intp] | None = None
        self._read_until = 0
        self._count = 0
        self._lengths = np.zeros(_FIRST_CAPACITY, np.float32)
        self._rows: dict[int, int] = {}
        self._codes: dict[str, int] = {}
        self._ids = np.zeros(_FIRST_CAPACITY, np.int64)
        self._owners = np.zeros(_FIRST_CAPACITY, np.int32)
        self._scales = np.zeros(_FIRST_CAPACITY, np.float32)
        self._steps = np.zeros((_FIRST_CAPACITY, self._dimensions), np.int8)
        words = -(-self._dimensions // _SIGNS_PER_WORD)
        self._signs = np.zeros((words, _FIRST_CAPACITY), np.uint64)

    def put(self, memory_id: int, owner: str, vector: Vector, length: int = 0) -> None:
        """Keep a vector; `length` is that of its text."""
        self.discard(memory_id)
        if self._count == len(self._ids):
            self._grow()
        row = self._count
        self._count += 1
        self._rows[memory_id] = row
        self._order = None
        self._ids[row] = memory_id
        self._lengths[row] = length
        self._owners[row] = self._codes.setdefault(owner, len(self._codes))
        scale = float(np.abs(vector).max()) / _LARGEST_INT8
        self._scales[row] = scale
        self._signs[:, row] = _signs(vector)
        self._steps[row] = np.rint(vector / scale) if scale else 0

    def discard(self, memory_id: int) -> None:
        """Remove a vector; the last row takes its place."""
        row = self._rows.pop(memory_id, None)
        if row is None:
            return
        self._count -= 1
        self._order = None
        last = self._count
        if row != last:
            for column in (self._ids, self._owners, self._lengths, self._scales, self._steps):
                column[row] = column[last]
            self._signs[:, row] = self._signs[:, last]
            self._rows[int(self._ids[row])] = row

    def search(self, question: Vector, owners: Collection[str]) -> Similarities:
        """Return the cosines of these owners' memories."""
        cosines = self._cosines if self._count <= EXACT_ROWS else self._estimates
        codes = [self._codes[owner] for owner in owners if owner in self._codes]
        seen = order = self._ordered()
        if len(codes) < len(self._codes):
            seen = order[np.isin(self._owners[order], codes)]

        def exact(places: NDArray[np.intp]) -> Vector:
            rows = seen[places]
            return self._steps[rows].astype(np.float32) @ question * self._scales[rows]

        found = cosines(question)[seen]
        return Similarities(self._ids[seen], found, self._lengths[seen], self._ids[order], exact)

    def _cosines(self, question: Vector) -> Vector:
        cosines = np.empty(self._count, np.float32)
        wide = np.empty((_BLOCK_ROWS, self._dimensions), np.float32)
        for start in range(0, self._count, _BLOCK_ROWS):
            steps = self._steps[start : min(start + _BLOCK_ROWS, self._count)]
            np.copyto(wide[: len(steps)], steps)
            np.dot(wide[: len(steps)], question, out=cosines[start : start + len(steps)])
        cosines *= self._scales[: self._count]
        return cosines

    def _estimates(self, question: Vector) -> Vector:
        """Estimate cosines from the share of different signs, which grows with the angle."""
        asked = _signs(question)
        different = np.zeros(self._count, np.uint16)
        for part, signs in zip(asked, self._signs, strict=True):
            different += np.bitwise_count(signs[: self._count] ^ part)
        turns = np.arange(self._dimensions + 1) / self._dimensions
        estimates: Vector = np.cos(np.pi * turns).astype(np.float32)[different]
        return estimates

    def _ordered(self) -> NDArray[np.intp]:
        """Return the rows ordered by memory id."""
        if self._order is None:
            self._order = np.argsort(self._ids[: self._count], kind="stable")
        return self._order

    def read_on(self, db: sqlite3.Connection, most: int) -> bool:
        """Read the next vectors of the table; return true once there are no more."""
        found = db.execute(_READ, [self.model, self._read_until, most]).fetchall()
        if found:
            self._read_until = found[-1][0]
        size = self._dimensions * _STORED.itemsize
        # What was put meanwhile is as new as the table
        fit = [row for row in found if len(row[2]) == size and row[0] not in self._rows]
        # In blocks: what is computed of a piece at once would take ten times its bytes
        for start in range(0, len(fit), _BLOCK_ROWS):
            ids, owners, stored, lengths = zip(*fit[start : start + _BLOCK_ROWS], strict=True)
            vectors = np.frombuffer(b"".join(stored), _STORED).astype(np.float32)
            self._append(ids, owners, vectors.reshape(len(ids), -1), lengths)
        return len(found) < most

    def _append(
        self,
        ids: Sequence[int],
        owners: Sequence[str],
        vectors: NDArray[np.float32],
        lengths: Sequence[int],
    ) -> None:
        """Append vectors of other memories: many at once take a tenth of one by one."""
        first, end = self._count, self._count + len(ids)
        while end > len(self._ids):
            self._grow()
        self._count, self._order = end, None
        self._rows.update(zip(ids, range(first, end), strict=True))
        self._ids[first:end] = ids
        self._lengths[first:end] = lengths
        self._owners[first:end] = [
            self._codes.setdefault(owner, len(self._codes)) for owner in owners
        ]
        scales = np.abs(vectors).max(axis=1) / _LARGEST_INT8
        self._scales[first:end] = scales
        words = np.zeros((len(ids), len(self._signs)), np.uint64)
        bits = np.packbits(vectors > 0, axis=1)
        words.view(np.uint8)[:, : bits.shape[1]] = bits
        self._signs[:, first:end] = words.T
        # A vector of nothing has no scale
        self._steps[first:end] = np.rint(vectors / np.where(scales, scales, 1.0)[:, None])

    def _grow(self) -> None:
        self._ids, self._owners, self._lengths, self._scales = (
            np.concatenate([column, np.zeros_like(column)])
            for column in (self._ids, self._owners, self._lengths, self._scales)
        )
        self._signs = np.concatenate([self._signs, np.zeros_like(self._signs)], axis=1)
        # In place where there is room behind it: two of the largest would not fit a small board
        self._steps.resize((len(self._ids), self._dimensions), refcheck=False)
