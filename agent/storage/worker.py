"""Database thread: work on a connection without blocking the event loop.

Jobs run one after another, each in a transaction of its own; what can wait a moment goes with the
next one, in the order in which it was given. What can be done again after a cut shares one
transaction with what follows soon, and is seen at once.

A database whose check may wait is looked at first and checked meanwhile; a change waits for that.
"""

import asyncio
import errno
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent.errors import StorageFull
from agent.storage.database import (
    USUAL_PAGE_BYTES,
    open_database,
    open_read_only,
    open_unchecked,
)
from agent.storage.files import is_read_only
from agent.system.repeats import RepeatedTrouble

if TYPE_CHECKING:
    from agent.storage.soundness import SoundnessCheck

# ruff: noqa: PLC0415  # few files answer before they are checked
_log = logging.getLogger(__name__)

R = TypeVar("R")
# A job gets the connection inside an open transaction
Job = Callable[[sqlite3.Connection], R]
# Result codes that mean "no room or no permission", not "wrong statement"
_NO_ROOM = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
    }
)
_CHANGE, _LOOK = "BEGIN IMMEDIATE", "BEGIN"
_UNFLUSHED, _FLUSHED = "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL"
# Redoable jobs share a transaction for so long: other programs wait much longer for a writer
SHARED_S = 1.0
# What can wait is written by itself when nothing else is: a cut costs no more than this
LATEST_S = 0.02
# Tried again this much later where there was no room
NO_ROOM_WAIT_S = 30.0


class DatabaseWorker:
    """Owns a connection and its thread; opened with the first job.

    Args:
        answers_first: look at a file that was closed whole before it is checked. Whoever sets this
            calls `check` soon after, and opens anew what is damaged.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[str],
        page_bytes: int = USUAL_PAGE_BYTES,
        *,
        answers_first: bool = False,
    ) -> None:
        self._path = path
        self._page_bytes = page_bytes
        self._migrations = migrations
        self._connection: sqlite3.Connection | None = None
        self._answers_first = answers_first
        # Of a file that was opened without it; None for one that may be changed
        self._check: SoundnessCheck | None = None
        # It was opened on a read-only card
        self._only_looks = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"db-{path.stem}")
        self._later: list[tuple[Job[object], Callable[[], None]]] = []
        self._flush: asyncio.TimerHandle | None = None
        self._sharing: asyncio.TimerHandle | None = None
        # Shared transactions that came to nothing: whoever had a part in one does it again
        self.undone = 0
        self._postponed = RepeatedTrouble(_log)

    @property
    def is_unchecked(self) -> bool:
        """Return true if the file was opened, and nobody knows yet that it is sound."""
        return self._check is not None and not self._check.found

    def doubt(self) -> None:
        """Note no clean end: the next start checks before it answers."""
        self._answers_first = False

    async def check(self) -> bool | None:
        """Check what was opened unchecked, in another thread; return None if it was given up."""
        check = self._check
        return True if check is None else await asyncio.to_thread(check.run)

    async def transact(self, job: Job[R]) -> R:
        """Run `job` in a transaction and return its result after its changes are durable.

        Raises:
            StorageFull: nothing was changed.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, job, _CHANGE)

    async def redoable(self, job: Job[R]) -> R:
        """Run `job`, which somebody does again if a cut undoes it, and return its result.

        Later jobs see what it did. The next `transact` makes it durable.

        Raises:
            StorageFull: nothing was changed.
        """
        loop = asyncio.get_running_loop()
        if self._sharing is None:
            self._sharing = loop.call_later(SHARED_S, self._begin_commit)
        return await loop.run_in_executor(self._thread, self._run_shared, job)

    async def look(self, job: Job[R]) -> R:
        """Run `job`, which changes nothing, and return its result; works on a read-only disk.

        Raises:
            StorageFull: there is nothing to look at, and no room to make it.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, job, _LOOK)

    async def fold(self) -> bool:
        """Move the log into the database and cut it off; return false if somebody still reads it.

        Raises:
            StorageFull: there is no room for it.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._fold)

    def later(self, job: Job[object], committed: Callable[[], None] = lambda: None) -> None:
        """Run `job` in the next transaction, or soon in one of its own.

        It may run more than once where a transaction fails, and is committed once.

        Args:
            committed: called in the worker's thread when it is durable.
        """
        self._later.append((job, committed))
        self._flush_in(LATEST_S)

    async def aclose(self) -> None:
        for timer in (self._flush, self._sharing):
            if timer is not None:
                timer.cancel()
        if self._check is not None:
            self._check.give_up()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _flush_in(self, wait_s: float) -> None:
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(wait_s, self._begin_flush)

    def _begin_flush(self) -> None:
        self._flush = None
        if self._later:
            loop = asyncio.get_running_loop()
            flushed = loop.run_in_executor(self._thread, self._write_later)
            flushed.add_done_callback(lambda _done: self._flush_again())

    def _flush_again(self) -> None:
        if self._later:
            self._flush_in(NO_ROOM_WAIT_S)

    def _begin_commit(self) -> None:
        self._sharing = None
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._thread, self._commit_shared)

    def _opened(self, begin: str) -> sqlite3.Connection:
        if self._only_looks and not is_read_only(self._path):
            self._leave_read_only()
        if self._connection is None:
            if begin == _CHANGE:
                self._refuse_read_only()
            self._connection = open_read_only(self._path, self._migrations)
            self._only_looks = self._connection is not None
        if self._connection is None and self._answers_first:
            self._connection = self._opened_as_noted(begin)
        if self._connection is None:
            self._connection = open_database(self._path, self._migrations, self._page_bytes)
        if self._check is not None and begin == _CHANGE:
            self._allow_changes(self._connection, self._check)
        return self._connection

    def _leave_read_only(self) -> None:
        """Open anew what others may change now."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._only_looks = None, False

    def _opened_as_noted(self, begin: str) -> sqlite3.Connection | None:
        """Open for looking what was closed whole; None if it has to be checked first."""
        from agent.storage import clean_end
        from agent.storage.soundness import SoundnessCheck

        if begin == _LOOK:
            connection = open_unchecked(self._path, self._migrations, self._page_bytes)
            if connection is not None:
                self._check = SoundnessCheck(self._path)
                return connection
        clean_end.forget(self._path)
        return None

    def _allow_changes(self, connection: sqlite3.Connection, check: "SoundnessCheck") -> None:
        from agent.storage import clean_end

        is_sound = check.run()
        if is_sound is None:
            raise StorageFull(f"{self._path} was not changed: it is being closed")
        clean_end.forget(self._path)
        if not is_sound:
            raise sqlite3.DatabaseError(f"{self._path} is damaged: it was not changed")
        connection.execute("PRAGMA query_only=OFF")
        self._check = None

    def _refuse_read_only(self) -> None:
        """Raise StorageFull where a commit would seem to succeed, and would be lost."""
        if is_read_only(self._path):
            raise StorageFull(f"{self._path} was not written: {os.strerror(errno.EROFS)}")

    def _run_shared(self, job: Job[R]) -> R:
        connection = self._opened(_CHANGE)
        self._refuse_read_only()
        try:
            if not connection.in_transaction:
                # No flush: a cut takes this transaction whole, and the job is done again
                connection.execute(_UNFLUSHED)
                connection.execute(_CHANGE)
            return _apart(connection, job)
        except sqlite3.OperationalError as err:
            if not connection.in_transaction:
                self.undone += 1
            raise self._named(err) from err

    def _commit_shared(self) -> None:
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            self._refuse_read_only()
            connection.commit()
        except (sqlite3.OperationalError, StorageFull) as err:
            connection.rollback()
            self.undone += 1
            self._postponed.met(f"storage: write postponed: {err}")

    def _fold(self) -> bool:
        connection = self._opened(_CHANGE)
        self._commit_shared()
        try:
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError as err:
            raise self._named(err) from err
        return not is_busy

    def _named(self, err: sqlite3.OperationalError) -> Exception:
        """Return the error, by a name of ours if there was no room."""
        # Python's own errors carry no code; extended ones have the primary in their low byte
        if getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _NO_ROOM:
            return StorageFull(f"{self._path} was not written: {err}")
        return err

    def _run(self, job: Job[R], begin: str) -> R:
        connection = self._opened(begin)
        if connection.in_transaction:
            if begin == _LOOK:
                return job(connection)
            self._commit_shared()
        if begin == _CHANGE:
            self._refuse_read_only()
            connection.execute(_FLUSHED)
        # More may be added by another thread meanwhile
        later = list(self._later) if begin == _CHANGE else []
        try:
            connection.execute(begin)
            try:
                for earlier, _ in later:
                    earlier(connection)
                result = job(connection)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
        except sqlite3.OperationalError as err:
            if connection.in_transaction:
                connection.rollback()
            raise self._named(err) from err
        if begin == _CHANGE:
            # It may have turned so meanwhile: seen until the next start, and on no disk
            self._refuse_read_only()
            self._postponed.over()
        del self._later[: len(later)]
        for _, committed in later:
            committed()
        return result

    def _write_later(self) -> None:
        try:
            self._run(lambda _db: None, _CHANGE)
        except StorageFull as err:
            self._postponed.met(f"storage: write postponed: {err}")

    def _close(self) -> None:
        if self._later:
            self._write_later()
        if self._connection is not None:
            self._commit_shared()
            if self._check is not None:
                # The last one that closes removes the log: not two at once, who would leave it
                self._check.run()
            self._connection.close()
            self._connection = None
            if self._answers_first and self._check is None and not self._only_looks:
                from agent.storage import clean_end

                clean_end.note(self._path)


def _apart(connection: sqlite3.Connection, job: Job[R]) -> R:
    """Run a job inside the open transaction; undo only this one if it fails."""
    connection.execute("SAVEPOINT one")
    try:
        result = job(connection)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
        raise
    connection.execute("RELEASE one")
    return result
