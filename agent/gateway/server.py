"""Server: accepts connections one by one, and has uvicorn parse them.

Accepting is done here and not by uvicorn: where there is no place, a caller waits in the kernel,
and the end of the agent leaves nothing behind.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable
from socket import socket
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from agent.gateway import callers
from agent.gateway.application import GatewayApplication
from agent.gateway.callers import Caller
from agent.gateway.connection_pool import GatewayConnectionPool
from agent.gateway.request import MAX_HEAD_BYTES, RequestFault, RequestHead

# A request's line and its headers come in one or two packets
HEADERS_TIMEOUT_S = 5.0
# Headers, body and answer together
CONNECTION_TIMEOUT_S = 30.0
# For an answer, which is some kilobytes, once it is written
READ_TIMEOUT_S = 5.0
# What is thrown away after a refusal, so that the refusal is not lost with the connection
MAX_IGNORED_BYTES = 256 * 1024
_REASONS = {400: "Bad Request", 431: "Request Header Fields Too Large"}


class ConnectionStage(enum.Enum):
    """Stage of a connection."""

    HEAD = "the request's line and headers come"
    ASKED = "the head is whole: the body comes, or the answer is made"
    REFUSED = "the head was refused; the refusal is being read"


class GatewayConnectionParts(Struct, frozen=True):
    """Parts that all connections of a gateway share.

    Args:
        recognise: tells by the peer and the headers who calls.
        answer_s: tells by the path how long an answer to a paired caller may take; 0 for usual.
    """

    config: Config
    recognise: Callable[[str, callers.Headers], Caller]
    places: GatewayConnectionPool
    socket_peer: str
    state: ServerState = field(default_factory=ServerState)
    answer_s: Callable[[bytes], float] = lambda _path: 0.0


class GatewayProtocol(H11Protocol):
    """uvicorn's protocol, which adds nothing to an answer that has begun."""

    def send_400_response(self, msg: str) -> None:
        # None while no request has come, whatever its type says
        cycle: Any = self.cycle
        if cycle is None:
            super().send_400_response(msg)
            return
        # The application finds its caller gone, and does not answer into what is broken
        cycle.disconnected = True
        cycle.message_event.set()
        self.transport.abort()


class ClosableTransport:
    """Transport to a caller who may be cut at any moment: what is written after that is dropped.

    uvloop raises for a write to a closed handle, where asyncio says nothing.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class GatewayConnection(asyncio.Protocol):
    """Connection of one caller, with a time limit."""

    def __init__(self, hall: GatewayConnectionParts) -> None:
        self._hall = hall
        self._head = RequestHead()
        self._stage = ConnectionStage.HEAD
        self._inner: GatewayProtocol | None = None
        self._transport: Any = None
        self._peer = hall.socket_peer
        self._caller = Caller(self._peer)
        self._ignored_bytes = 0
        self._closing_s: float | None = None
        self._limit_s = CONNECTION_TIMEOUT_S
        self.begun_s = 0.0

    @property
    def who(self) -> str:
        return self._caller.who

    @property
    def is_known(self) -> bool:
        return self._caller.is_known

    @property
    def gives_way(self) -> bool:
        return self._stage is not ConnectionStage.ASKED or self._is_waiting

    @property
    def due_s(self) -> float:
        if self._transport.is_closing() and self._closing_s is None:
            self._closing_s = asyncio.get_running_loop().time()
        if self._closing_s is not None:
            return self._closing_s + READ_TIMEOUT_S
        is_head = self._stage is ConnectionStage.HEAD
        return self.begun_s + (HEADERS_TIMEOUT_S if is_head else self._limit_s)

    def cut(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.begun_s = asyncio.get_running_loop().time()
        address = transport.get_extra_info("peername")
        if isinstance(address, tuple):
            self._peer = callers.exact(address[0])
            self._caller = Caller(callers.normal(self._peer))
        self._hall.places.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._hall.places.discard(self)
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        if self._inner is not None:
            self._inner.data_received(data)
        elif self._stage is ConnectionStage.HEAD:
            self._take(data)
        else:
            self._ignore(data)

    def eof_received(self) -> bool:
        """Keep the connection for the answer if the request is whole."""
        return self._stage is ConnectionStage.ASKED and not self._is_waiting

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    @property
    def _is_waiting(self) -> bool:
        """Return true if the caller must act: send the rest of a body, or read the answer."""
        if self._inner is None:
            return True
        cycle: Any = self._inner.cycle
        if cycle is None or cycle.response_complete or self._inner.flow.write_paused:
            return True
        return bool(cycle.more_body)

    def _take(self, data: bytes) -> None:
        self._head.add(data)
        if fault := self._head.fault():
            self._refuse(fault)
        elif (whole := self._head.take()) is not None:
            self._pass_on(whole)

    def _pass_on(self, whole: bytes) -> None:
        hall = self._hall
        self._stage, self._head = ConnectionStage.ASKED, RequestHead()
        self._inner = inner = GatewayProtocol(hall.config, hall.state, {})
        # Not a transport by its type, but by all that uvicorn asks of one
        inner.connection_made(ClosableTransport(self._transport))  # type: ignore[arg-type]
        inner.data_received(whole)
        if inner.headers is not None:
            self._caller = hall.recognise(self._peer, inner.headers)
            self._extend(inner.scope)

    def _extend(self, scope: "HTTPScope") -> None:
        """Give a caller with a right token the time of a turn, where one answers."""
        if self.is_known:
            self._limit_s = max(self._limit_s, self._hall.answer_s(scope["raw_path"]))

    def _refuse(self, fault: RequestFault) -> None:
        self._stage, self._head = ConnectionStage.REFUSED, RequestHead()
        self._closing_s = asyncio.get_running_loop().time()
        text = f'{{"error":"{fault.text}"}}'.encode()
        self._transport.write(
            f"HTTP/1.1 {fault.status} {_REASONS[fault.status]}\r\n"
            "content-type: application/json\r\ncache-control: no-store\r\n"
            f"connection: close\r\ncontent-length: {len(text)}\r\n\r\n".encode()
            + text
        )
        # Closed at once, what still comes would take the refusal away with it
        with contextlib.suppress(OSError):
            self._transport.write_eof()

    def _ignore(self, data: bytes) -> None:
        self._ignored_bytes += len(data)
        if self._ignored_bytes > MAX_IGNORED_BYTES:
            self.cut()


if TYPE_CHECKING:
    from uvicorn._types import (
        ASGI3Application,
        ASGIReceiveCallable,
        ASGISendCallable,
        HTTPScope,
        Scope,
    )

# Answers that are under way when the agent ends
GRACE_S = 2.0
# The machine has no more open files; some are closed meanwhile
_OUT_OF_FILES_S = 0.1


async def serve(
    front: GatewayApplication, listening: socket, places: GatewayConnectionPool
) -> None:
    """Answer requests until cancelled; closes the socket."""
    # It says of every careless request that it was careless
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = _config(front)
    config.load()
    hall = GatewayConnectionParts(
        config, front.recognised, places, front.socket_peer, answer_s=front.answer_s
    )
    clearing = asyncio.ensure_future(hall.places.keep_clear())
    try:
        await _accept(hall, listening)
    finally:
        listening.close()
        clearing.cancel()
        await _end(hall)


async def _accept(hall: GatewayConnectionParts, listening: socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await hall.places.room()
        try:
            made, _ = await loop.sock_accept(listening)
        except OSError:
            await asyncio.sleep(_OUT_OF_FILES_S)
            continue
        try:
            await loop.connect_accepted_socket(lambda: GatewayConnection(hall), made)
        except OSError:
            made.close()


async def _end(hall: GatewayConnectionParts) -> None:
    """Cut callers that have not asked; others get their answer if it comes soon."""
    for one in hall.places:
        if one.gives_way:
            one.cut()
    if tasks := set(hall.state.tasks):
        await asyncio.wait(tasks, timeout=GRACE_S)
    for one in hall.places:
        one.cut()
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _config(front: GatewayApplication) -> Config:
    return Config(
        # Both speak ASGI; each describes it in types of its own
        _ended_quietly(cast("ASGI3Application", front)),
        http="h11",
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
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


def _ended_quietly(application: "ASGI3Application") -> "ASGI3Application":
    """Wrap the application so that its cancellation is not logged as a fault."""

    async def run(scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await application(scope, receive, send)

    return run
