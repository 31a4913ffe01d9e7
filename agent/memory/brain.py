"""`brain.db` and what can go wrong with it: jobs in, results or one kind of error out.

A file that turns out to be damaged is opened anew, which looks at it and sets it aside; when it
looks sound and still cannot be used, its memories are moved into a new one. Whatever is opened
first gets back what it lacks and the snapshot beside it has.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agent.errors import MemoryUnavailable, StorageFull
from agent.memory import coldstart, rows
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations
from agent.memory.schema import MIGRATIONS
from agent.storage.db import IN_RAM, set_aside
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

R = TypeVar("R")

# A call waits at most this long: the database's own wait for another writer, twice
CALL_TIMEOUT_S = 10.0
# Errors that constant statements raise only on a file that is not what was written
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
    }
)


class Brain:
    """The database, opened on first use; `failures` counts the jobs whose end is not known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = DatabaseWorker(path, MIGRATIONS)
        # Damage was met, and opening the file anew has found nothing wrong with it
        self._distrusted = False
        self._closed = False
        self._snapshots = Generations(path.parent)
        # The one whose database has got back what it lacked
        self._awake: DatabaseWorker | None = None
        self._waking: asyncio.Task[None] | None = None
        self.failures = 0

    async def run(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run the job in a transaction of its own, in the database's thread, and return its result.

        Raises:
            MemoryUnavailable: nothing was changed, unless it took too long.
        """
        return await self._run(job, is_look=False)

    async def look(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """The same of a job that changes nothing, also on a disk that takes no more writes."""
        return await self._run(job, is_look=True)

    async def _run(self, job: Callable[[sqlite3.Connection], R], *, is_look: bool) -> R:
        if self._closed:
            raise MemoryUnavailable("the memory is closed")
        worker = self._worker
        done = False
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._wake(worker, is_look=is_look)
                transact = worker.look if is_look else worker.transact
                result = await transact(lambda db: _tolerantly(db, job))
            done = True
        except TimeoutError as err:
            raise MemoryUnavailable(f"{self._path} took longer than {CALL_TIMEOUT_S} s") from err
        except (StorageFull, OSError) as err:
            raise MemoryUnavailable(str(err)) from err
        except UnicodeEncodeError as err:
            raise MemoryUnavailable("half a character cannot be remembered") from err
        except (sqlite3.Error, UnicodeError) as err:
            if self._worker is worker and _code(err) & 0xFF in _DAMAGED:
                await self._recover(worker, err)
            raise MemoryUnavailable(f"{self._path} cannot be used: {err}") from err
        finally:
            if not done:
                self.failures += 1
        return result

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            if self._waking is not None:
                await asyncio.gather(self._waking, return_exceptions=True)
            await self._worker.aclose()

    async def _wake(self, worker: DatabaseWorker, *, is_look: bool) -> None:
        """Give a database that was just opened back what it lacks, and say so."""
        if self._awake is worker or self._path == IN_RAM:
            return
        if self._waking is None:
            self._waking = asyncio.create_task(self._revive(worker))
            # Whoever waits hears of it; nobody may wait any more
            self._waking.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            # A large snapshot takes longer than a call may: it comes back for those that follow
            await asyncio.shield(self._waking)
        except StorageFull:
            if not is_look:
                raise

    async def _revive(self, worker: DatabaseWorker) -> None:
        try:
            said = await worker.transact(lambda db: _tolerantly(db, self._bring_back))
            self._awake = worker
        finally:
            self._waking = None
        if said:
            _log.warning("%s was missing, damaged or old: %s", self._path.name, said)

    def _bring_back(self, db: sqlite3.Connection) -> str:
        try:
            return coldstart.bring_back(db, self._snapshots, self._path)
        except OSError as err:
            return f"the snapshot could not be read: {err}"

    async def _recover(self, worker: DatabaseWorker, err: Exception) -> None:
        """Open the file anew, which sets it aside if it looks damaged; else save what it holds."""
        _log.error("%s is damaged: %s", self._path, err)
        self._worker = DatabaseWorker(self._path, MIGRATIONS)
        if not self._distrusted:
            self._distrusted = True
            await worker.aclose()
            return
        self._distrusted = False
        saved = await _saved(worker)
        await worker.aclose()
        await asyncio.to_thread(set_aside, self._path)
        await self._worker.transact(lambda db: coldstart.merge(db, saved))
        _log.error("%s memories were saved into a new %s", len(saved), self._path)


async def _saved(worker: DatabaseWorker) -> list[MemoryEntry]:
    try:
        return await worker.transact(lambda db: _tolerantly(db, rows.readable))
    except (sqlite3.Error, UnicodeError, StorageFull):
        return []


def _tolerantly(db: sqlite3.Connection, job: Callable[[sqlite3.Connection], R]) -> R:
    """Run a job; a damaged letter does not take the rest of a text with it."""
    db.text_factory = _decoded
    return job(db)


def _decoded(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _code(err: Exception) -> int:
    """SQLite's code; errors that Python itself raises carry none."""
    return int(getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
