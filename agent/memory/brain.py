"""`brain.db` and what can go wrong with it: jobs in, results or one kind of error out.

A damaged file is looked at and set aside when it is opened anew; a damaged word index is made
again from the memories.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agent.errors import MemoryUnavailable, StorageFull
from agent.memory import rows
from agent.memory.schema import MIGRATIONS
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

R = TypeVar("R")

# A call waits at most this long: the database's own wait for another writer, twice
CALL_TIMEOUT_S = 10.0
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Brain:
    """The database, opened on first use; `failures` counts the jobs whose end is not known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = DatabaseWorker(path, MIGRATIONS)
        self._words_are_damaged = False
        self._closed = False
        self.failures = 0

    async def run(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """What the job returns, in a transaction of its own and in the database's thread.

        Raises:
            MemoryUnavailable: nothing was changed, unless it took too long.
        """
        if self._closed:
            raise MemoryUnavailable("the memory is closed")
        worker = self._worker
        done = False
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                result = await worker.transact(lambda db: self._repaired(db, job))
            done = True
        except TimeoutError as err:
            raise MemoryUnavailable(f"{self._path} took longer than {CALL_TIMEOUT_S} s") from err
        except (StorageFull, OSError) as err:
            raise MemoryUnavailable(str(err)) from err
        except sqlite3.Error as err:
            await self._let_go_if_damaged(worker, err)
            raise MemoryUnavailable(f"{self._path} cannot be used: {err}") from err
        finally:
            if not done:
                self.failures += 1
        return result

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            await self._worker.aclose()

    def _repaired(self, db: sqlite3.Connection, job: Callable[[sqlite3.Connection], R]) -> R:
        if self._words_are_damaged:
            _log.warning("making the word index of %s anew", self._path)
            rows.reindex(db)
            self._words_are_damaged = False
        return job(db)

    async def _let_go_if_damaged(self, worker: DatabaseWorker, err: sqlite3.Error) -> None:
        """The next call opens the file anew, which looks at it and sets it aside if need be."""
        # Errors that Python itself raises carry no code
        code = getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code & 0xFF not in _DAMAGED or self._worker is not worker:
            return
        _log.error("%s is damaged: %s", self._path, err)
        self._words_are_damaged = code == sqlite3.SQLITE_CORRUPT_VTAB
        self._worker = DatabaseWorker(self._path, MIGRATIONS)
        await worker.aclose()
