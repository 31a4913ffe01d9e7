"""HTTP straight to a server: asyncio's connections, read by h11, kept for the next request.

A connection belongs to one request at a time and is closed wherever that is cut off; only one
that has been read to the end of its answer is kept. Importing this module loads h11.
"""

import asyncio
import contextlib
import re
import select
import ssl
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import cast

import h11
from msgspec import Struct

from agent.net.connecting import HostLookups, reach
from agent.net.request import (
    HEADERS,
    KEEP_ALIVE_S,
    MAX_CONNECTIONS,
    BrokenOff,
    HttpLimits,
    HttpRequest,
    NotReached,
    UnfitRequest,
    closed,
)

# What is read of a body at a time
PIECE_BYTES = 64 * 1024
# Of a status and its headers, as httpcore has it
_MAX_HEAD_BYTES = 100 * 1024
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535
# Whatever is not written like this is taken apart by httpx
_PLAIN = re.compile(
    r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?"
    r"((?:/(?!\.{1,2}(?:[/?]|\Z))(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)*"
    r"(?:\?(?:[\w\-.~!$&()*+,;=:@/?]|%[0-9A-Fa-f]{2})*)?)",
    re.ASCII,
)


class Target(Struct, frozen=True):
    """Server and path of a URL."""

    is_secure: bool
    host: str
    port: int
    netloc: str
    path: str

    @property
    def server(self) -> tuple[bool, str, int]:
        """Return what two targets of one connection have alike."""
        return self.is_secure, self.host, self.port


@lru_cache(maxsize=64)
def target_of(url: str) -> Target | None:
    """Return what a plain URL says; None for one with a password, spaces, other letters, dots."""
    found = _PLAIN.fullmatch(url)
    if found is None:
        return None
    scheme, host, port, path = found.groups()
    number = int(port) if port else _PORTS[scheme]
    if not 0 < number <= _LAST_PORT:
        return None
    netloc = host if number == _PORTS[scheme] else f"{host}:{number}"
    rooted = path if path.startswith("/") else f"/{path}"
    return Target(scheme == "https", host.strip("[]"), number, netloc, rooted)


class DirectConnections:
    """Connections to every server.

    Args:
        context: checks the certificates.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        context.set_alpn_protocols(["http/1.1"])
        self._context = context
        # The one that was used last is used next
        self._idle: list[DirectConnection] = []
        self._busy: set[DirectConnection] = set()
        self._lookups = HostLookups()
        # What was begun to open before one is closed as soon as it is open
        self._closings = 0

    def takes(self, request: HttpRequest) -> bool:
        """Return true for a request that needs nothing but a connection to its server."""
        is_plain = not request.address and isinstance(request.content, bytes)
        return is_plain and target_of(request.url) is not None

    async def ask(
        self, request: HttpRequest, limits: HttpLimits, release: Callable[[], None]
    ) -> "DirectConnection":
        """As `HttpWay.ask`, for a request that it takes."""
        to = target_of(request.url)
        assert to is not None
        content = request.content
        assert isinstance(content, bytes)
        try:
            connection = self._taken(to) or await self._opened(to, limits.connect_s)
        except BaseException:
            release()
            raise
        self._busy.add(connection)
        connection.over = partial(self._give_back, connection, release)
        try:
            connection.write(request, to, content)
            await connection.drain(limits.write_s, limits.moved)
            await connection.read_head(limits.answer_s)
        except BaseException:
            await connection.aclose()
            raise
        return connection

    async def aclose(self) -> None:
        """Close every connection; whoever waits for an answer is told that the agent ends."""
        self._closings += 1
        for connection in (*self._idle, *self._busy):
            connection.close(closed())
        self._idle.clear()

    def _give_back(self, connection: "DirectConnection", release: Callable[[], None]) -> None:
        """Keep a connection that can be used again, and close any other."""
        self._busy.discard(connection)
        release()
        if not connection.begin_again():
            connection.close()
            return
        connection.idle_until_s = asyncio.get_running_loop().time() + KEEP_ALIVE_S
        self._idle.append(connection)
        if len(self._idle) > MAX_CONNECTIONS:
            self._idle.pop(0).close()

    def _taken(self, to: Target) -> "DirectConnection | None":
        now_s = asyncio.get_running_loop().time()
        for connection in [
            one for one in self._idle if one.is_over(now_s) or (one.is_to(to) and one.is_readable)
        ]:
            self._idle.remove(connection)
            connection.close()
        found = next((one for one in reversed(self._idle) if one.is_to(to)), None)
        if found is not None:
            self._idle.remove(found)
        return found

    async def _opened(self, to: Target, timeout_s: float) -> "DirectConnection":
        loop, closings = asyncio.get_running_loop(), self._closings
        try:
            async with asyncio.timeout(timeout_s):
                reached = await reach(self._lookups, to.host, to.port)
            # Whatever ends it, the loop closes the socket that it was given
            async with asyncio.timeout(timeout_s):
                _, connection = await loop.create_connection(
                    lambda: DirectConnection(to),
                    sock=reached,
                    ssl=self._context if to.is_secure else None,
                    server_hostname=to.host if to.is_secure else None,
                )
        except TimeoutError as err:
            raise NotReached("") from err
        except OSError as err:
            raise NotReached(str(err) or type(err).__name__) from err
        if closings != self._closings:
            connection.close()
            raise closed()
        return connection


class DirectConnection(asyncio.Protocol):
    """A connection to one server, with the answer that is being read."""

    def __init__(self, to: Target) -> None:
        self._server = to.server
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._is_paused = self._is_full = self._is_ended = False
        self._waiter: asyncio.Future[None] | None = None
        # Why it was closed from here
        self._reason: Exception | None = None
        # What the network ended it by, where the server did not
        self._loss: Exception | None = None
        # Called at the end of the request that it is used for
        self.over: Callable[[], None] = _nothing
        self.idle_until_s = 0.0
        self.status = 0
        self.headers: dict[str, str] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Of uvloop it is one by what it does alone
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            self._pieces.append(data[start : start + PIECE_BYTES])
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= PIECE_BYTES and not self._is_paused and self._transport:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._is_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._loss = exc
        self._is_ended, self._is_full = True, False
        self._wake()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    def is_to(self, to: Target) -> bool:
        return self._server == to.server

    def is_over(self, now_s: float) -> bool:
        """Return true if something came while nobody asked, or it is too old."""
        is_known = self._is_ended or bool(self._pieces) or self._transport is None
        return is_known or now_s >= self.idle_until_s

    @property
    def is_readable(self) -> bool:
        """Return true if something has come that the loop does not know yet: mostly the end."""
        assert self._transport is not None
        ready = select.poll()
        ready.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(ready.poll(0))

    def write(self, request: HttpRequest, to: Target, content: bytes) -> None:
        """Begin to send a request."""
        assert self._transport is not None
        headers = _all_headers(request, to, content)
        try:
            head = h11.Request(method=request.method, target=to.path, headers=headers)
            sent = [self._wire.send(head)]
            if content:
                sent.append(self._wire.send(h11.Data(data=content)))
            sent.append(self._wire.send(h11.EndOfMessage()))
        except (h11.LocalProtocolError, UnicodeEncodeError) as err:
            raise UnfitRequest(type(err).__name__) from err
        self._transport.write(b"".join(filter(None, sent)))

    async def drain(self, timeout_s: float, moved: Callable[[], None]) -> None:
        """Wait until the kernel has what was written; a server that ends may have answered.

        Raises:
            TimeoutError: it takes nothing any more.
        """
        assert self._transport is not None
        while self._is_full:
            left = self._transport.get_write_buffer_size()
            try:
                await self._wait(timeout_s)
            except TimeoutError:
                if self._transport.get_write_buffer_size() >= left:
                    raise
                moved()

    async def read_head(self, timeout_s: float) -> None:
        event = await self._event(timeout_s)
        while isinstance(event, h11.InformationalResponse):
            event = await self._event(timeout_s)
        if not isinstance(event, h11.Response):
            raise BrokenOff("it ended without an answer")
        self.status = event.status_code
        self.headers = {}
        for name, value in event.headers:
            known, text = name.decode("ascii"), _decoded(value)
            self.headers[known] = (
                f"{self.headers[known]}, {text}" if known in self.headers else text
            )

    async def piece(self, timeout_s: float) -> bytes:
        """Return the next of the body; empty at its end.

        Raises:
            BrokenOff: it ended before its end.
            TimeoutError: nothing came.
        """
        if self._wire.their_state is not h11.SEND_BODY:
            return b""
        while True:
            event = await self._event(timeout_s)
            if not isinstance(event, h11.Data):
                return b""
            if event.data:
                return bytes(event.data)

    def begin_again(self) -> bool:
        """Return true if the answer is read, and another request may follow."""
        if self._wire.their_state is h11.SEND_BODY:
            # All of it was read, and only its end was not asked for
            with contextlib.suppress(h11.RemoteProtocolError):
                self._wire.next_event()
        is_done = self._wire.our_state is self._wire.their_state is h11.DONE
        # What has come behind the answer would be taken for that of the next request
        if not is_done or self._is_ended or self._pieces or self._wire.trailing_data[0]:
            return False
        self._wire.start_next_cycle()
        return True

    async def aclose(self) -> None:
        """End the request; what is not read to its end is cut off."""
        # Once, and it leads back here: forgotten, it does not wait for the garbage collector
        over, self.over = self.over, _nothing
        over()

    def close(self, reason: Exception | None = None) -> None:
        self._reason = reason
        self._is_ended = True
        self._wake()
        if self._transport is not None:
            self._transport.abort()

    async def _event(self, timeout_s: float) -> object:
        try:
            while (event := self._wire.next_event()) is h11.NEED_DATA:
                await self._feed(timeout_s)
        except h11.RemoteProtocolError as err:
            raise BrokenOff(str(err)) from err
        return event

    async def _feed(self, timeout_s: float) -> None:
        while not self._pieces and not self._is_ended:
            await self._wait(timeout_s)
        if self._reason is not None:
            raise self._reason
        if not self._pieces:
            if self._loss is not None:
                # Only an end that the server has made is the end of an answer without a length
                raise BrokenOff(str(self._loss))
            self._wire.receive_data(b"")
            return
        piece = self._pieces.popleft()
        self._waiting_bytes -= len(piece)
        if self._is_paused and not self._pieces and self._transport:
            self._is_paused = False
            self._transport.resume_reading()
        self._wire.receive_data(piece)

    async def _wait(self, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        # A tenth of what `asyncio.timeout` takes, for each piece of an answer
        limit = loop.call_later(timeout_s, _too_late, self._waiter)
        try:
            await self._waiter
        finally:
            limit.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _nothing() -> None:
    """Be called where nobody is told."""


def _too_late(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


def _all_headers(request: HttpRequest, to: Target, content: bytes) -> list[tuple[str, str]]:
    """Return the headers of a request in the order in which httpx has them."""
    own = {name.lower() for name in request.headers}
    told = [("host", to.netloc)]
    if content or request.method in {"POST", "PUT", "PATCH"}:
        told.append(("content-length", f"{len(content)}"))
    told += (("accept", "*/*"), ("connection", "keep-alive"), *HEADERS.items())
    return [*(one for one in told if one[0] not in own), *request.headers.items()]


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")
