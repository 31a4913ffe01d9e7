"""The vectors of all memories in RAM, scanned exactly: int8 with a scale for each row.

Importing this module loads numpy. Belongs to the thread of the database; rebuilt from its table
when another program has written there.
"""

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Of what is stored: half the bytes of 32-bit floats, and no loss that a ranking could see
_STORED = np.dtype("<f2")
_LARGEST_INT8 = 127
# Rows that are widened to floats at a time: 6 MB, and as fast as all at once
_BLOCK_ROWS = 4096
_FIRST_CAPACITY = 64

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines between a question and every vector that a scope may see.

    Args:
        memory_ids, cosines: of equal length.
    """

    memory_ids: NDArray[np.int64]
    cosines: Vector

    @property
    def mean(self) -> float:
        return float(self.cosines.mean(dtype=np.float64)) if len(self.cosines) else 0.0

    @property
    def deviation(self) -> float:
        return float(self.cosines.std(dtype=np.float64)) if len(self.cosines) else 0.0

    def nearest(self, limit: int) -> dict[int, float]:
        limit = min(limit, len(self.cosines))
        if not limit:
            return {}
        return self._at(np.argpartition(-self.cosines, limit - 1)[:limit])

    def of(self, memory_ids: Iterable[int]) -> dict[int, float]:
        """Of those among these memories that have a vector."""
        return self._at(np.flatnonzero(np.isin(self.memory_ids, list(memory_ids))))

    def _at(self, places: NDArray[np.intp]) -> dict[int, float]:
        return {int(self.memory_ids[place]): float(self.cosines[place]) for place in places}


def encode(vector: Vector) -> bytes:
    return vector.astype(_STORED).tobytes()


class VectorIndex:
    """Every vector of one model."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self._dimensions = dimensions
        self._loaded_at: tuple[int, int] | None = None
        self._clear()

    def sync(self, db: sqlite3.Connection, failures: int) -> None:
        """Become what the table holds, if another program or a failed write has made that differ.

        `failures` counts the failed ones so far.
        """
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if self._loaded_at != (version, failures):
            self._load(db)
            self._loaded_at = (version, failures)

    def put(self, memory_id: int, owner: str, vector: Vector) -> None:
        self.discard(memory_id)
        if self._count == len(self._ids):
            self._grow()
        row = self._count
        self._count += 1
        self._rows[memory_id] = row
        self._ids[row] = memory_id
        self._owners[row] = self._codes.setdefault(owner, len(self._codes))
        scale = float(np.abs(vector).max()) / _LARGEST_INT8
        self._scales[row] = scale
        self._steps[row] = np.rint(vector / scale) if scale else 0

    def discard(self, memory_id: int) -> None:
        """The last row takes the place of the one that goes."""
        row = self._rows.pop(memory_id, None)
        if row is None:
            return
        self._count -= 1
        last = self._count
        if row != last:
            for column in (self._ids, self._owners, self._scales, self._steps):
                column[row] = column[last]
            self._rows[int(self._ids[row])] = row

    def search(self, question: Vector, owners: Collection[str]) -> Similarities:
        """Cosines of these owners' memories."""
        cosines = np.empty(self._count, np.float32)
        for start in range(0, self._count, _BLOCK_ROWS):
            block = slice(start, min(start + _BLOCK_ROWS, self._count))
            cosines[block] = self._steps[block].astype(np.float32) @ question
        cosines *= self._scales[: self._count]
        codes = [self._codes[owner] for owner in owners if owner in self._codes]
        seen = np.isin(self._owners[: self._count], codes)
        return Similarities(self._ids[: self._count][seen], cosines[seen])

    def _load(self, db: sqlite3.Connection) -> None:
        self._clear()
        rows = db.execute(
            "SELECT entries.id, entries.owner, v.vector"
            " FROM memory_vectors AS v JOIN entries ON entries.id = v.memory_id"
            " WHERE v.model = ?",
            [self.model],
        )
        for memory_id, owner, stored in rows:
            if len(stored) == self._dimensions * _STORED.itemsize:
                self.put(memory_id, owner, np.frombuffer(stored, _STORED).astype(np.float32))

    def _clear(self) -> None:
        self._count = 0
        self._rows: dict[int, int] = {}
        self._codes: dict[str, int] = {}
        self._ids = np.zeros(_FIRST_CAPACITY, np.int64)
        self._owners = np.zeros(_FIRST_CAPACITY, np.int32)
        self._scales = np.zeros(_FIRST_CAPACITY, np.float32)
        self._steps = np.zeros((_FIRST_CAPACITY, self._dimensions), np.int8)

    def _grow(self) -> None:
        self._ids, self._owners, self._scales, self._steps = (
            np.concatenate([column, np.zeros_like(column)])
            for column in (self._ids, self._owners, self._scales, self._steps)
        )
