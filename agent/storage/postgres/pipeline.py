"""Transactions that send their statements without waiting: each way there and back is one less.

Agents wait for one another's locks, and a lock is held for as many ways as its transaction takes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

Columns = tuple[object, ...]
Connection = psycopg.AsyncConnection[Columns]
Cursor = psycopg.AsyncCursor[Columns]


class PipelinedConnection(psycopg.AsyncConnection[Columns]):
    """Connection that knows the pipeline of its transaction."""

    sent: psycopg.AsyncPipeline | None = None


class PipelinedCursor(Cursor):
    """Cursor that ends what was sent before it waits for an answer.

    The server knows then that it waits for the agent, and ends the transaction of one that stands
    still (`SILENCE_TIMEOUT_S`). In the middle of a pipeline, and after a request to flush, it would
    wait for ever.
    """

    async def fetchone(self) -> Columns | None:
        await self._sync()
        return await super().fetchone()

    async def fetchall(self) -> list[Columns]:
        await self._sync()
        return await super().fetchall()

    async def _sync(self) -> None:
        connection = self.connection
        if isinstance(connection, PipelinedConnection) and connection.sent is not None:
            await connection.sent.sync()


@asynccontextmanager
async def transaction(connection: PipelinedConnection) -> AsyncIterator[None]:
    """Transaction whose statements, its end too, are sent without waiting for their results."""
    async with connection.pipeline() as pipeline:
        connection.sent = pipeline
        try:
            async with connection.transaction():
                # Known to have begun
                await pipeline.sync()
                yield
        finally:
            connection.sent = None
