"""One database, one thread: work on a connection without blocking the event loop.

Jobs run one after another, each in a transaction of its own.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from agent.errors import StorageFull
from agent.storage.db import open_database

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


class DatabaseWorker:
    """Owns a connection and the thread that uses it; opened on the first job."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self._path = path
        self._migrations = migrations
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"db-{path.stem}")

    async def transact(self, job: Job[R]) -> R:
        """What `job` returns, after its changes are durable.

        Raises:
            StorageFull: nothing was changed.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, job, "BEGIN IMMEDIATE")

    async def look(self, job: Job[R]) -> R:
        """What `job`, which changes nothing, returns; a disk that takes no writes does not matter.

        Raises:
            StorageFull: there is nothing to look at, and no room to make it.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, job, "BEGIN")

    async def aclose(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _run(self, job: Job[R], begin: str) -> R:
        if self._connection is None:
            self._connection = open_database(self._path, self._migrations)
        connection = self._connection
        try:
            connection.execute(begin)
            try:
                result = job(connection)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
        except sqlite3.OperationalError as err:
            if connection.in_transaction:
                connection.rollback()
            # Python's own errors carry no code; extended ones have the primary in their low byte
            if getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _NO_ROOM:
                raise StorageFull(f"{self._path} was not written: {err}") from err
            raise
        return result

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
