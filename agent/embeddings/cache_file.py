"""The file of the embedding cache: vectors by model and digest, the least recently used go first.

Losing it costs time and nothing else: whatever goes wrong with it is told once, and then it is as
if it were empty.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from agent.errors import StorageFull
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

# A cache that answers later than this is slower than the model
CACHE_TIMEOUT_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding_cache (
    model TEXT NOT NULL,
    -- SHA-256 of the purpose and the text
    digest BLOB NOT NULL,
    -- 32-bit floats, little-endian
    vector BLOB NOT NULL,
    used_at_s REAL NOT NULL,
    PRIMARY KEY (model, digest)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS embedding_cache_used ON embedding_cache (used_at_s);
"""

Digest: TypeAlias = bytes
R = TypeVar("R")


class CacheFile:
    """Vectors on disk.

    Args:
        most: rows that are kept; 0 makes no file at all.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._worker = DatabaseWorker(path, (_SCHEMA,))
        self._most = most
        self._is_broken = most == 0

    async def read(self, model: str, digests: Iterable[Digest]) -> dict[Digest, bytes]:
        """Those that are there."""
        wanted = list(digests)
        return await self._run(lambda db: _read(db, model, wanted), {})

    async def write(
        self, model: str, new: Mapping[Digest, bytes], used: Iterable[Digest], now_s: float
    ) -> None:
        """Keep the new ones, note which were used, and let the oldest beyond the limit go."""
        touched = list(used)
        await self._run(lambda db: _write(db, model, new, touched, now_s), None)
        await self.trim()

    async def trim(self) -> int:
        """Let go of the oldest beyond the limit; how many went."""
        return await self._run(lambda db: _trim(db, self._most), 0)

    async def count(self) -> int:
        return await self._run(_count, 0)

    async def aclose(self) -> None:
        await self._worker.aclose()

    async def _run(self, job: Callable[[sqlite3.Connection], R], otherwise: R) -> R:
        if self._is_broken:
            return otherwise
        try:
            async with asyncio.timeout(CACHE_TIMEOUT_S):
                return await self._worker.transact(job)
        except (StorageFull, OSError, sqlite3.Error, TimeoutError) as err:
            self._is_broken = True
            _log.warning(
                "embeddings: cache not used (file=%s): %s", self._path, str(err) or "too slow"
            )
            return otherwise


def _read(db: sqlite3.Connection, model: str, digests: Iterable[Digest]) -> dict[Digest, bytes]:
    found = {}
    for digest in digests:
        row = db.execute(
            "SELECT vector FROM embedding_cache WHERE model = ? AND digest = ?", (model, digest)
        ).fetchone()
        # A damaged row may hold anything
        if row is not None and isinstance(row[0], bytes):
            found[digest] = row[0]
    return found


def _write(
    db: sqlite3.Connection,
    model: str,
    new: Mapping[Digest, bytes],
    used: Iterable[Digest],
    now_s: float,
) -> None:
    db.executemany(
        "UPDATE embedding_cache SET used_at_s = ? WHERE model = ? AND digest = ?",
        [(now_s, model, digest) for digest in used],
    )
    db.executemany(
        "INSERT OR REPLACE INTO embedding_cache (model, digest, vector, used_at_s)"
        " VALUES (?, ?, ?, ?)",
        [(model, digest, vector, now_s) for digest, vector in new.items()],
    )


def _trim(db: sqlite3.Connection, most: int) -> int:
    gone = db.execute(
        "DELETE FROM embedding_cache WHERE (model, digest) IN ("
        " SELECT model, digest FROM embedding_cache ORDER BY used_at_s"
        " LIMIT max(0, (SELECT count(*) FROM embedding_cache) - ?))",
        (most,),
    )
    return gone.rowcount


def _count(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM embedding_cache").fetchone()
    return int(number)
