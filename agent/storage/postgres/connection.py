"""Connection to a PostgreSQL server: jobs in, results or one kind of error out.

Importing this module loads psycopg. A connection that has died is made anew before a job begins,
never in the middle of one: what was done is known, or it is an error.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TypeVar

import psycopg

from agent.config import Secret
from agent.errors import BarnacleError, StorageFull
from agent.storage.postgres.pipeline import (
    Connection,
    PipelinedConnection,
    PipelinedCursor,
    transaction,
)
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

R = TypeVar("R")
Prepare = Callable[[Connection], Awaitable[None]]

# Everything lies in a schema of its own, so that a database may hold other things as well
SCHEMA = "barnacle"
# Agents that start at the same moment make the tables one after another: "barnacle" as a number
SCHEMA_LOCK = 0x6261726E61636C65

# A server in the house answers within milliseconds, one far away within a second
CONNECT_TIMEOUT_S = 5
# The server itself ends a statement that takes longer: the slowest search of a million memories
STATEMENT_TIMEOUT_S = 5
# The server ends a transaction whose agent says nothing for so long: others need its locks. Less
# than a statement's time, so that who waits for one of them gets it
SILENCE_TIMEOUT_S = 3
# The server asks a connection that is so long silent whether its agent is still there, and so often
KEEPALIVE_S, KEEPALIVES = 30, 4
# A connection without a call is given back: one server has room for some hundred
REST_S = 30.0
# Between two attempts while the server has no room
ROOM_WAIT_S = 0.2
# A call waits at most this long, a new connection and a statement included
CALL_TIMEOUT_S = 10.0
# New columns and indexes of a brain of a million memories; calls fail meanwhile, and do not end it
PREPARE_TIMEOUT_S = 600.0
# A server that did not answer is left alone: conversations go on without waiting each time
COOL_DOWN_S = 10.0
_MAX_REASON_CHARS = 300
# Of a server that has as many connections as it may; it gives no number for that
_FULL = re.compile(r"too many (?:clients|connections)|connection slots are reserved")
# Where a password stands in an address
_PASSWORD = re.compile(r"(://[^\s:@/]*):[^\s@]*@|\bpassword\s*=\s*\S+")


class Server:
    """One connection, opened on first use.

    Args:
        prepare: done on each new connection: makes the tables that are missing.
        unavailable: the error of every call that comes to nothing.
    """

    def __init__(
        self, url: Secret, clock: Clock, prepare: Prepare, unavailable: type[BarnacleError]
    ) -> None:
        self._url = url
        self._clock = clock
        self._prepare = prepare
        self._unavailable = unavailable
        # Closes the connection that nobody has used for a while
        self._resting: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()
        self._connection: PipelinedConnection | None = None
        # It goes on when a call has waited long enough, and the next call waits for the same one
        self._opening: asyncio.Task[PipelinedConnection] | None = None
        self._failure: tuple[float, str] | None = None
        self._closed = False
        # The next call makes a new connection
        self._is_spent = False

    async def run(self, job: Callable[[Connection], Awaitable[R]]) -> R:
        """Run the job in a transaction of its own and return its result.

        Raises:
            BarnacleError: `unavailable`; nothing was changed, unless it broke at the very end.
        """
        return await self._run(self._transacted(job))

    async def look(self, job: Callable[[Connection], Awaitable[R]]) -> R:
        """Run a job that changes nothing: no transaction, and once again if the connection died.

        Raises:
            BarnacleError: `unavailable`; there is no answer.
        """
        return await self._run(self._looked(job))

    async def _run(self, job: Coroutine[object, object, R]) -> R:
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S), self._turn:
                if self._closed:
                    raise self._unavailable("the connection to PostgreSQL is closed")
                return await job
        except TimeoutError as err:
            raise self._unavailable(f"PostgreSQL took longer than {CALL_TIMEOUT_S} s") from err
        except psycopg.Error as err:
            raise self._unavailable(f"PostgreSQL refused: {reason(err)}") from err
        except (StorageFull, OSError) as err:
            raise self._unavailable(str(err)) from err
        finally:
            # Where it never began
            job.close()
            self._rest_later()

    def renew(self) -> None:
        """Let the next call begin with a new connection."""
        self._is_spent = True

    async def aclose(self) -> None:
        async with self._turn:
            self._closed = True
            if self._resting is not None:
                self._resting.cancel()
            if self._opening is not None:
                self._opening.cancel()
                [opened] = await asyncio.gather(self._opening, return_exceptions=True)
                if isinstance(opened, psycopg.AsyncConnection):
                    await opened.close()
            if self._connection is not None:
                await self._connection.close()

    def _rest_later(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if not self._closed:
            self._resting = asyncio.get_running_loop().call_later(REST_S, self._rest)

    def _rest(self) -> None:
        if self._turn.locked():
            self._rest_later()
        elif self._connection is not None:
            # At once: nothing is under way on it
            self._connection.pgconn.finish()

    async def _transacted(self, job: Callable[[Connection], Awaitable[R]]) -> R:
        async with AsyncExitStack() as stack:
            return await job(await self._begun(stack))

    async def _looked(self, job: Callable[[Connection], Awaitable[R]]) -> R:
        connection = await self._connected()
        try:
            return await job(connection)
        except psycopg.OperationalError:
            if not connection.closed:
                raise
            # It died since it was last used
            return await job(await self._connected())

    async def _begun(self, stack: AsyncExitStack) -> PipelinedConnection:
        """Return a connection inside a fresh transaction.

        A job waits only for what it reads: others wait for its locks on each way there and back.
        """
        connection = await self._connected()
        try:
            await stack.enter_async_context(transaction(connection))
        except psycopg.OperationalError:
            # It died since it was last used: a restart, an idle limit, a router
            await connection.close()
            connection = await self._connected()
            await stack.enter_async_context(transaction(connection))
        return connection

    async def _connected(self) -> PipelinedConnection:
        if self._is_spent and self._connection is not None:
            await self._connection.close()
        self._is_spent = False
        if self._connection is not None and not self._connection.closed:
            return self._connection
        now_s = self._clock.monotonic_s()
        if self._failure is not None and now_s < self._failure[0] + COOL_DOWN_S:
            raise self._unavailable(f"PostgreSQL cannot be reached: {self._failure[1]}")
        if self._opening is None:
            self._opening = asyncio.create_task(self._connect())
            # Whoever waits hears of it; nobody may wait any more
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        opening = self._opening
        try:
            self._connection = await asyncio.shield(opening)
        except (psycopg.Error, TimeoutError) as err:
            self._failure = now_s, reason(err)
            raise self._unavailable(f"PostgreSQL cannot be reached: {reason(err)}") from err
        finally:
            if opening.done():
                self._opening = None
        self._failure = None
        return self._connection

    async def _connect(self) -> PipelinedConnection:
        connection = await self._entered()
        try:
            async with asyncio.timeout(PREPARE_TIMEOUT_S):
                await self._prepare(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _entered(self) -> PipelinedConnection:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            connection = await self._admitted()
            try:
                settings = (f"SET {name} = {value}" for name, value in _session().items())
                await connection.execute("; ".join(settings).encode())
            except BaseException:
                await connection.close()
                raise
            return connection

    async def _admitted(self) -> PipelinedConnection:
        """Return a connection; wait for room on a full server, where others rest now and then."""
        while True:
            try:
                return await PipelinedConnection.connect(
                    self._url.reveal(),
                    autocommit=True,
                    connect_timeout=CONNECT_TIMEOUT_S,
                    application_name="barnacle",
                    cursor_factory=PipelinedCursor,
                )
            except psycopg.OperationalError as err:
                if not _FULL.search(str(err)):
                    raise
                _log.debug("storage: PostgreSQL server full (error=%s)", reason(err))
            await self._clock.sleep(ROOM_WAIT_S)


def _session() -> dict[str, float]:
    """Return the settings of a connection."""
    return {
        "statement_timeout": STATEMENT_TIMEOUT_S * 1000,
        "idle_in_transaction_session_timeout": SILENCE_TIMEOUT_S * 1000,
        "tcp_keepalives_idle": KEEPALIVE_S,
        "tcp_keepalives_interval": KEEPALIVE_S,
        "tcp_keepalives_count": KEEPALIVES,
        # What is asked for is mostly in RAM: looking things up beats reading all
        "random_page_cost": 1.1,
    }


def reason(err: Exception) -> str:
    """Return the error in one line without a password."""
    if isinstance(err, TimeoutError):
        return f"no answer in {CALL_TIMEOUT_S} s"
    if isinstance(err, psycopg.ProgrammingError) and err.sqlstate is None:
        # The library quotes what it could not read, and a password is a part of that
        return "postgres_url is not the address of a database"
    said = _PASSWORD.sub(lambda found: f"{found[1] or 'password='}***", str(err))
    return printable_line(said, _MAX_REASON_CHARS).strip()
