"""Server of a shared brain: a connection that has its tables, and the server's extensions."""

from collections.abc import Awaitable, Callable

from agent.config import Secret
from agent.errors import MemoryUnavailable
from agent.memory.postgres.schema import ServerExtensions, prepare
from agent.storage.postgres.connection import Server
from agent.storage.postgres.pipeline import Connection
from agent.system.clock import Clock

Opened = Callable[[Connection], Awaitable[object]]


class BrainServer(Server):
    """Connection to a brain; every call raises `MemoryUnavailable` where it comes to nothing.

    Args:
        opened: done on each new connection, in a transaction of its own.
    """

    def __init__(self, url: Secret, clock: Clock, opened: Opened | None = None) -> None:
        super().__init__(url, clock, self._prepare_brain, MemoryUnavailable)
        self._opened = opened
        self.abilities = ServerExtensions()

    async def _prepare_brain(self, connection: Connection) -> None:
        self.abilities = await prepare(connection)
        if self._opened is not None:
            async with connection.transaction():
                await self._opened(connection)
