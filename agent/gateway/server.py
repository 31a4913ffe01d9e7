"""The server: uvicorn on a socket that is open already, with a limit on everything a caller holds.

A connection is for one request and lives for seconds, so that slow ones never add up.
"""

import asyncio
import logging
from socket import socket
from typing import TYPE_CHECKING, Any, cast

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent.gateway.front import Front

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

# Each may hold a piece of a body
MAX_CONNECTIONS = 32
# A request's line and its headers come in one or two packets
HEADERS_TIMEOUT_S = 5.0
# Headers, body and answer together
CONNECTION_TIMEOUT_S = 20.0
# What of a request's line and its headers is held in memory
MAX_HEADER_BYTES = 16 * 1024
# Answers that are under way when the agent ends
_GRACE_S = 2


class GuardedProtocol(H11Protocol):
    """A connection that ends by itself; where there are too many, the idlest gives way."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        self._ends = [
            self.loop.call_later(HEADERS_TIMEOUT_S, self._end_idle),
            self.loop.call_later(CONNECTION_TIMEOUT_S, transport.abort),
        ]
        self.begun_s = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            _idlest(self).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for end in self._ends:
            end.cancel()
        super().connection_lost(exc)

    def _end_idle(self) -> None:
        """No whole request has come."""
        if not _has_asked(self):
            self.transport.abort()


def _has_asked(connection: Any) -> bool:
    return connection.cycle is not None


def _idlest(newest: GuardedProtocol) -> GuardedProtocol:
    """Of those that have not asked yet the oldest; the newest where all have asked."""
    others: list[Any] = [one for one in newest.connections if one is not newest]
    waiting = [one for one in others if not _has_asked(one) and not one.transport.is_closing()]
    return min(waiting, key=lambda one: one.begun_s, default=newest)


async def serve(front: Front, listening: socket) -> None:
    """Answer requests until cancelled; the socket is closed then."""
    # It says of every careless request that it was careless
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = Server(_config(front))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    try:
        await server.startup(sockets=[listening])
        await server.on_tick(0)
        await asyncio.Event().wait()
    finally:
        if server.started:
            await server.shutdown(sockets=[listening])
        listening.close()


def _config(front: Front) -> Config:
    return Config(
        # Both speak ASGI; each describes it in types of its own
        cast("ASGI3Application", front),
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        # Who calls is decided by us, from the connection itself
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=1,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )
