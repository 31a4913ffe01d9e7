"""Proxy of the browser, which has no other way out: pinned addresses, public hosts, counted bytes.

It serves the port that the launcher hands over. A name is looked up once, and what was checked is
what is connected to. Encrypted traffic passes as it is; plain HTTP is one request to a connection.
"""

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from agent.errors import AddressRefused, BarnacleError, NetworkError
from agent.security.web_addresses import WebPlace
from agent.tools.browser.traffic import Traffic
from agent.tools.web import Web

_log = logging.getLogger(__name__)

# A browser keeps six to a host; a page with more hosts than this is mostly advertisements
MAX_CONNECTIONS = 48
# As long as a web server lets a browser wait before it counts as dead
CONNECT_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 30.0
MAX_HEAD_BYTES = 32 * 1024
# What a person may type into a page, with room for its form
MAX_SENT_BYTES = 256 * 1024
# All requests of a page to one host are in one tunnel
MAX_TUNNEL_SENT_BYTES = 1024 * 1024
_PIECE_BYTES = 64 * 1024
_LENGTH = re.compile(r"[0-9]{1,9}")
_DONE = b"HTTP/1.1 200 Connection established\r\n\r\n"
# They are between the browser and us
_HOP = frozenset({"proxy-connection", "proxy-authorization", "connection", "keep-alive", "upgrade"})
_HOP_BYTES = frozenset(name.encode() for name in _HOP)
_HEAD_END = b"\r\n\r\n"


class ProxyRequest(Struct, frozen=True):
    """A request to the proxy.

    Args:
        body_bytes: how much of it follows its head.
    """

    method: str
    place: WebPlace
    head: bytes
    body_bytes: int = 0


class FilteringProxy:
    """Serves one browser."""

    def __init__(self, web: Web, traffic: Traffic) -> None:
        self._web = web
        self._traffic = traffic
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def serve(self, door: socket.socket) -> None:
        """Begin to serve a port that listens."""
        self._server = await asyncio.start_server(self._begin, sock=door, limit=MAX_HEAD_BYTES)

    async def drop_connections(self) -> None:
        """Close whatever is open; the browser opens what it needs anew."""
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        await self.drop_connections()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._serve_one(reader, writer))
        self._open.add(task)
        task.add_done_callback(partial(self._left, writer))

    def _left(self, writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        # Also of a task that was cancelled before its first step
        self._open.discard(task)
        writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(IDLE_TIMEOUT_S):
                request = _request_of(await reader.readuntil(_HEAD_END), self._web)
            if reason := self._traffic.refusal_of_connection(request.method, request.place):
                raise AddressRefused(reason)
            server_reader, server_writer = await self._connected(request.place)
        except BarnacleError as err:
            # The place, never the path: it may hold what a person typed
            _log.info("browser: refused (reason=%s)", err)
            writer.write(
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # Nobody is there who could be told
        else:
            with contextlib.closing(server_writer):
                await self._relay(request, (reader, writer), (server_reader, server_writer))

    async def _connected(
        self, place: WebPlace
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = str(await self._web.address_of(place))
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await asyncio.open_connection(address, place.port, limit=MAX_HEAD_BYTES)
        except (OSError, TimeoutError) as err:
            raise NetworkError(f"{place.host} cannot be reached") from err

    async def _relay(
        self,
        request: ProxyRequest,
        browser: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Pass bytes both ways until the server is done or one side is gone."""
        is_tunnel = request.method == "CONNECT"
        room = MAX_TUNNEL_SENT_BYTES if is_tunnel else request.body_bytes

        def went(count_bytes: int) -> bool:
            nonlocal room
            room -= count_bytes
            return room >= 0

        (browser[1] if is_tunnel else server[1]).write(_DONE if is_tunnel else request.head)
        sending = asyncio.create_task(_pass_on(browser[0], server[1], went))
        receiving = asyncio.create_task(
            _pass_answer_on(server[0], browser[1], self._traffic.receive, has_head=not is_tunnel)
        )
        # A browser that has sent its request may say no more for as long as the answer takes
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            receiving.cancel()
            await asyncio.wait({sending, receiving})


def _request_of(head: bytes, web: Web) -> ProxyRequest:
    """Return the request that a head makes.

    Raises:
        AddressRefused: it is none that a browser would make, or where nothing of ours may go.
    """
    try:
        first, *lines = head.decode("ascii").split("\r\n")
        method, target, _version = first.split(" ")
    except ValueError as err:
        raise AddressRefused("the request is invalid") from err
    if method == "CONNECT":
        return ProxyRequest(method, _tunnel_of(target, web), b"")
    if not target.startswith("http://"):
        raise AddressRefused("only http:// is asked for without a tunnel")
    place = web.place_of(target)
    fields = [line.partition(":") for line in lines if line]
    told = {name.strip().lower(): value.strip() for name, _, value in fields}
    length = told.get("content-length", "0")
    if "transfer-encoding" in told or not _LENGTH.fullmatch(length):
        raise AddressRefused("the length of the request is not known")
    if int(length) > MAX_SENT_BYTES:
        raise AddressRefused(f"the request is longer than {MAX_SENT_BYTES // 1024} KB")
    kept = [line for line in lines if line and line.partition(":")[0].strip().lower() not in _HOP]
    path = "/" + target.removeprefix("http://").partition("/")[2]
    words = [f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""]
    return ProxyRequest(method, place, "\r\n".join(words).encode(), int(length))


def _tunnel_of(target: str, web: Web) -> WebPlace:
    """Return where a tunnel leads; Traffic lets it only where a page asks for https."""
    return web.place_of(f"https://{target}/")


async def _pass_answer_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    counted: Callable[[int], bool],
    *,
    has_head: bool,
) -> None:
    """Pass the server's answer on; the browser uses no connection of plain HTTP twice."""
    if has_head:
        try:
            async with asyncio.timeout(IDLE_TIMEOUT_S):
                head = await reader.readuntil(_HEAD_END)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        first, *lines = head.removesuffix(_HEAD_END).split(b"\r\n")
        kept = [line for line in lines if line.partition(b":")[0].lower() not in _HOP_BYTES]
        writer.write(b"\r\n".join([first, *kept, b"Connection: close", b"", b""]))
    await _pass_on(reader, writer, counted)


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counted: Callable[[int], bool]
) -> None:
    """Pass bytes on until the end, too much of them, or too long a silence."""
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(IDLE_TIMEOUT_S):
                piece = await reader.read(_PIECE_BYTES)
            if not piece or not counted(len(piece)):
                return
            writer.write(piece)
            await writer.drain()
