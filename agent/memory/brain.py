"""Access to `brain.db`: jobs in, results or one kind of error out.

A file that turns out to be damaged is opened anew, which looks at it and sets it aside; when it
looks sound and still cannot be used, its memories are moved into a new one. Whatever is opened
first gets back what it lacks and the snapshot beside it has.

A file that was closed whole answers before it is checked: until then it is only looked at, and one
that is damaged is set aside as it was.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from agent.errors import MemoryUnavailable, StorageFull
from agent.memory import facts, restoration, salvage
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations
from agent.memory.schema import MIGRATIONS
from agent.memory.tombstones import Tombstones
from agent.storage.database import IN_RAM, SMALL_PAGE_BYTES, set_aside
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

R = TypeVar("R")

# A call waits at most this long: the database's own wait for another writer, twice
CALL_TIMEOUT_S = 10.0
# Several things that are forgotten one after another are erased at once: each time the whole word
# index is written, some 4 MB for 10,000 memories
ERASE_WAIT_S = 2.0
# Memories of a snapshot that are compared at a time: a question waits for no more
SNAPSHOT_PIECE = 200
# Errors that constant statements raise only on a file that is not what was written
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
    }
)


# What sqlite3 says of a text that is no UTF-8; it has no code for it
_CANNOT_DECODE = "Could not decode to UTF-8"


class Brain:
    """The database, opened on first use; `failures` counts jobs with an unknown end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = DatabaseWorker(
            path, MIGRATIONS, SMALL_PAGE_BYTES, answers_first=path != IN_RAM
        )
        self._checking: asyncio.Task[None] | None = None
        # Damage was met, and opening the file anew has found nothing wrong with it
        self._distrusted = False
        self._closed = False
        self._snapshots = Generations(path.parent)
        self._tombstones = Tombstones(path.parent)
        # The one whose database has got back what it lacked
        self._awake: DatabaseWorker | None = None
        self._waking: asyncio.Task[None] | None = None
        self._failures = 0
        self._erase_timer: asyncio.TimerHandle | None = None
        self._erasing: asyncio.Task[None] | None = None

    @property
    def failures(self) -> int:
        """Return a number that grows whenever something that was done may have come to nothing."""
        return self._failures + self._worker.undone

    async def run(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run the job in a transaction of its own, in the database's thread, and return its result.

        Raises:
            MemoryUnavailable: nothing was changed, unless it took too long.
        """
        return await self._run(job, is_look=False)

    async def redoable(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run a job whose end a power cut may undo: what it kept is told again by the messages."""
        return await self._run(job, is_look=False, redoable=True)

    async def look(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Run a job that changes nothing, also on a read-only disk."""
        return await self._run(job, is_look=True)

    async def _run(
        self, job: Callable[[sqlite3.Connection], R], *, is_look: bool, redoable: bool = False
    ) -> R:
        if self._closed:
            raise MemoryUnavailable("the memory is closed")
        worker = self._worker
        try:
            return await self._tried(job, is_look=is_look, redoable=redoable)
        except (sqlite3.Error, UnicodeError) as err:
            is_damaged = _code(err) & 0xFF in _DAMAGED
            was_unchecked = worker.is_unchecked
            if is_damaged and self._worker is worker:
                await self._recover(worker, err)
            if is_damaged and was_unchecked:
                # Nothing was changed: the one that is restored answers
                return await self._run(job, is_look=is_look, redoable=redoable)
            raise MemoryUnavailable(f"{self._path} cannot be used: {err}") from err

    async def _tried(
        self, job: Callable[[sqlite3.Connection], R], *, is_look: bool, redoable: bool
    ) -> R:
        done = False
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                worker = await self._ready(is_look=is_look)
                transact = worker.transact
                if is_look:
                    transact = worker.look
                elif redoable:
                    transact = worker.redoable
                read = _strictly_first if is_look else _tolerantly
                result = await transact(lambda db: read(db, job))
            done = True
        except TimeoutError as err:
            raise MemoryUnavailable(f"{self._path} took longer than {CALL_TIMEOUT_S} s") from err
        except (StorageFull, OSError) as err:
            raise MemoryUnavailable(str(err)) from err
        except UnicodeEncodeError as err:
            raise MemoryUnavailable("the text has half a character (a lone surrogate)") from err
        finally:
            if not done:
                self._failures += 1
        self._check_in_background()
        return result

    async def forget(self, job: Callable[[sqlite3.Connection], int]) -> int:
        """Run a job that forgets, return how many it forgot, and erase their words soon."""
        await self.run(facts.keep_again)
        gone = await self.run(job)
        if gone and self._path != IN_RAM:
            if self._erase_timer is not None:
                self._erase_timer.cancel()
            loop = asyncio.get_running_loop()
            self._erase_timer = loop.call_later(ERASE_WAIT_S, self._begin_erasing)
        return gone

    def note_forgotten(
        self, db: sqlite3.Connection, entries: Sequence[MemoryEntry], now_s: float
    ) -> None:
        """Note beside the database, durably, that these are deleted now; for a job."""
        if self._path != IN_RAM:
            from agent.memory import erasure  # noqa: PLC0415 - for those who forget

            self._tombstones.add(entries, now_s)
            facts.put(db, facts.BURIED, str(self._tombstones.count))
            erasure.note(db, entries)

    async def erase(self) -> None:
        """Erase the words of what was forgotten, if there are any; log failures."""
        if self._path == IN_RAM:
            return
        try:
            noted = await self.look(partial(facts.get, name=facts.UNERASED))
            if not noted:
                return
            from agent.memory import erasure  # noqa: PLC0415 - for those who forget

            if not await erasure.erase(self, self._path.parent, noted):
                _log.warning("memory: log of changes in use: forgotten words are erased later")
        except (MemoryUnavailable, StorageFull, OSError) as err:
            _log.warning("memory: forgotten words are erased later (error=%s)", err)

    async def fold(self) -> bool:
        """Move the log into the database and cut it off; return false if it is in use."""
        return await (await self._ready(is_look=False)).fold()

    def allow(self, entry: MemoryEntry) -> None:
        """Note that this memory lives, although it was forgotten once; for a job."""
        if self._path != IN_RAM:
            self._tombstones.allow(entry)

    async def own_snapshot(self) -> AsyncIterator[list[MemoryEntry]]:
        """Yield the newest whole snapshot that this device wrote, in pieces, if there is one."""
        if self._path == IN_RAM:
            return
        entries = await asyncio.to_thread(self._newest_own)
        while piece := await asyncio.to_thread(lambda: list(islice(entries, SNAPSHOT_PIECE))):
            yield piece

    def _newest_own(self) -> Iterator[MemoryEntry]:
        own = (one for one in self._snapshots.every() if self._snapshots.is_ours(one))
        newest = next(own, None)
        if newest is None:
            return iter(())
        return filter(None, newest.entries())

    async def aclose(self) -> None:
        if not self._closed:
            await self._finish_erasing()
            self._closed = True
            if self._waking is not None:
                await asyncio.gather(self._waking, return_exceptions=True)
            await self._worker.aclose()
            if self._checking is not None:
                await asyncio.gather(self._checking, return_exceptions=True)

    def _begin_erasing(self) -> None:
        self._erase_timer = None
        self._erasing = asyncio.create_task(self._erase_next(self._erasing))

    async def _erase_next(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self.erase()

    async def _finish_erasing(self) -> None:
        if self._erase_timer is not None:
            self._erase_timer.cancel()
            self._begin_erasing()
        if self._erasing is not None:
            await self._erasing

    def doubt(self) -> None:
        """Have the next start check the file before it answers."""
        self._worker.doubt()

    async def _ready(self, *, is_look: bool) -> DatabaseWorker:
        """Return the worker of a file that has what it lacked, and is sound if it is to change."""
        while True:
            worker = self._worker
            await self._wake(worker, is_look=is_look)
            if not is_look:
                await self._check_now()
            if worker is self._worker:
                return worker

    async def _check_now(self) -> None:
        """Wait until the file is checked; one that is damaged has another worker then."""
        self._check_in_background()
        if self._checking is not None:
            # Whoever gives up waiting ends it for nobody else
            await asyncio.shield(self._checking)
        if self._closed:
            raise MemoryUnavailable("the memory is closed")

    def _check_in_background(self) -> None:
        """Check a file that has answered unchecked, in a task that `aclose` ends."""
        if self._worker.is_unchecked and self._checking is None and not self._closed:
            self._checking = asyncio.create_task(self._check(self._worker))
            self._checking.add_done_callback(_heard)

    async def _check(self, worker: DatabaseWorker) -> None:
        try:
            if await worker.check() is False and self._worker is worker:
                # What was read from it is read again
                self._failures += 1
                await self._recover(worker, sqlite3.DatabaseError("its check found damage"))
        finally:
            self._checking = None

    async def _wake(self, worker: DatabaseWorker, *, is_look: bool) -> None:
        """Restore what a newly opened database lacks, and return a note about it."""
        if self._awake is worker or self._path == IN_RAM:
            return
        if self._waking is None:
            self._waking = asyncio.create_task(self._revive(worker))
            self._waking.add_done_callback(_heard)
        try:
            # A large snapshot takes longer than a call may: it comes back for those that follow
            await asyncio.shield(self._waking)
        except StorageFull:
            if not is_look:
                raise

    async def _revive(self, worker: DatabaseWorker) -> None:
        try:
            said = ""
            if not await worker.look(lambda db: _tolerantly(db, self._lacks_nothing)):
                await self._check_now()
                if self._worker is not worker:
                    return
                said = await worker.transact(lambda db: _tolerantly(db, self._bring_back))
            self._awake = worker
        finally:
            self._waking = None
        if said:
            _log.warning("memory: database restored (file=%s): %s", self._path.name, said)

    def _lacks_nothing(self, db: sqlite3.Connection) -> bool:
        try:
            return restoration.lacks_nothing(db, self._snapshots, self._path, self._tombstones)
        except OSError:
            # The restoration says what cannot be read
            return False

    def _bring_back(self, db: sqlite3.Connection) -> str:
        try:
            return restoration.bring_back(db, self._snapshots, self._path, self._tombstones)
        except OSError as err:
            return f"the snapshot could not be read: {err}"

    async def _recover(self, worker: DatabaseWorker, err: Exception) -> None:
        """Open the file again, which sets a damaged one aside; otherwise save its content."""
        _log.error("memory: database damaged (file=%s): %s", self._path, err)
        self._failures += worker.undone + 1
        self._worker = DatabaseWorker(self._path, MIGRATIONS, SMALL_PAGE_BYTES)
        if not self._distrusted:
            self._distrusted = True
            await worker.aclose()
            return
        self._distrusted = False
        saved = await _saved(worker)
        await worker.aclose()
        await asyncio.to_thread(set_aside, self._path)
        living = list(restoration.living(saved, self._tombstones))
        await self._worker.transact(lambda db: restoration.merge_entries(db, living))
        _log.error(
            "memory: content moved to a new database (memories=%s, file=%s)", len(saved), self._path
        )


def _heard(task: asyncio.Task[None]) -> None:
    """Take the error of a task: whoever waits hears of it, and nobody may wait any more."""
    if not task.cancelled():
        task.exception()


async def _saved(worker: DatabaseWorker) -> list[MemoryEntry]:
    try:
        return await worker.transact(lambda db: _tolerantly(db, salvage.readable))
    except (sqlite3.Error, UnicodeError, StorageFull):
        return []


def _strictly_first(db: sqlite3.Connection, job: Callable[[sqlite3.Connection], R]) -> R:
    """Run a job that changes nothing, and again where it meets damaged letters.

    There are none, nearly always, and SQLite's own decoding takes a tenth of ours.
    """
    db.text_factory = str
    try:
        return job(db)
    except sqlite3.OperationalError as err:
        if not str(err).startswith(_CANNOT_DECODE):
            raise
    return _tolerantly(db, job)


def _tolerantly(db: sqlite3.Connection, job: Callable[[sqlite3.Connection], R]) -> R:
    """Run a job; replace damaged letters instead of failing."""
    db.text_factory = restoration.decoded
    return job(db)


def _code(err: Exception) -> int:
    """Return SQLite's code; 0 for errors that Python itself raises."""
    return int(getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
