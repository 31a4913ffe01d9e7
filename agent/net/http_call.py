"""Requests by httpx, each in a task of its own: who waits for it may be cut off anywhere, twice.

A pool of httpcore loses a connection if a cancellation meets it between two steps: it shields
itself by means of anyio, which no `cancel` of asyncio heeds. So this task is cancelled once at
most, and only in steps that clean up behind themselves. Who is in which step, the trace tells.
"""

import asyncio
import contextlib
import ssl
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent.errors import ConfigRefused
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
from agent.net.tls import tls_context

if TYPE_CHECKING:
    import httpx

# A call that is given up ends in a moment; nobody waits longer for it
GIVE_UP_TIMEOUT_S = 1.0

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

# Elsewhere a connection is nobody's yet, or no more: it would stay as it is for ever
_BEARABLE = frozenset(
    {
        "connection.connect_tcp.started",
        "connection.start_tls.started",
        "http11.send_request_headers.started",
        "http11.send_request_body.started",
        "http11.receive_response_headers.started",
        "http11.receive_response_body.started",
    }
)


class HttpCalls:
    """Clients of httpx, made on first use, and what is under way by them.

    Args:
        transport: replaces the network; for tests.
        context: trusts others than the system does.
    """

    def __init__(
        self, transport: "httpx.AsyncBaseTransport | None", context: ssl.SSLContext | None
    ) -> None:
        self._transport = transport
        self._context = context
        # By whether they connect to addresses that were checked before
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._making = asyncio.Lock()
        self._calls: set[HttpCall] = set()

    async def ask(
        self, request: HttpRequest, limits: HttpLimits, release: Callable[[], None]
    ) -> "HttpCall":
        """As `HttpWay.ask`.

        Raises:
            ConfigRefused: the proxy named by the environment cannot be used.
        """
        try:
            client = await self._made(is_pinned=bool(request.address))
            with _translated():
                built = _built(client, request, limits)
            call = HttpCall(client, built, has_pool=self._transport is None)
        except BaseException:
            release()
            raise
        self._calls.add(call)

        def over(task: asyncio.Task[None]) -> None:
            self._calls.discard(call)
            release()
            # Whoever waited has it; where nobody did, nobody is to be told
            if not task.cancelled():
                task.exception()

        call.task.add_done_callback(over)
        try:
            await call.begun()
        except BaseException:
            await call.aclose()
            raise
        return call

    async def aclose(self) -> None:
        """Give up what is under way, and close every connection."""
        async with self._making:
            for call in self._calls:
                call.give_up()
            await self._end_calls()
            # The pool goes with them: in what state does not matter any more
            for call in self._calls:
                call.task.cancel()
            await self._end_calls()
            while self._clients:
                _, client = self._clients.popitem()
                await client.aclose()

    async def _made(self, *, is_pinned: bool) -> "httpx.AsyncClient":
        async with self._making:
            if is_pinned not in self._clients:
                # Importing httpx and reading certificates takes longer than a lease renewal may
                self._clients[is_pinned] = await asyncio.to_thread(self._make, is_pinned=is_pinned)
            return self._clients[is_pinned]

    def _make(self, *, is_pinned: bool) -> "httpx.AsyncClient":
        # A transport that was handed in has its own
        context = (self._context or tls_context()) if self._transport is None else None
        return _make_client(self._transport, context, is_pinned=is_pinned)

    async def _end_calls(self) -> None:
        if self._calls:
            tasks = [call.task for call in self._calls]
            await asyncio.wait(tasks, timeout=GIVE_UP_TIMEOUT_S)


class HttpCall:
    """Begins at once, and ends by the end of the body, a failure, or `give_up`.

    Args:
        has_pool: the client's transport has one; what is handed in for a test has none.
    """

    def __init__(
        self, client: "httpx.AsyncClient", request: "httpx.Request", *, has_pool: bool
    ) -> None:
        self._client = client
        self._is_bearable = not has_pool
        self._is_unwanted = False
        self._asked = asyncio.Event()
        self._piece: asyncio.Future[bytes] | None = None
        # Its own new connection, as long as the pool may not know of it
        self._stream: Any = None
        self._response: httpx.Response | None = None
        self.status = 0
        self.headers: dict[str, str] = {}
        request.extensions["trace"] = self._trace
        self.task = asyncio.create_task(self._run(request))

    async def begun(self) -> None:
        """Wait for the head of the answer.

        Raises:
            NotReached: and whatever else `request` names.
            NetworkError: the client was closed meanwhile.
        """
        with _translated():
            await self._next()
        if self._response is None:
            raise closed()
        self.status = self._response.status_code
        told = self._response.headers.items()
        self.headers = {name.lower(): str(value) for name, value in told}

    async def piece(self, timeout_s: float) -> bytes:
        """The next of the body; empty at its end. Raises as `response` does."""
        with _translated():
            async with asyncio.timeout(timeout_s):
                return await self._next()

    def give_up(self) -> None:
        if not self._is_unwanted:
            self._is_unwanted = True
            if self._is_bearable:
                self.task.cancel()

    async def aclose(self) -> None:
        """Give it up, and wait a moment for its end."""
        self.give_up()
        if not self.task.done():
            await asyncio.wait({self.task}, timeout=GIVE_UP_TIMEOUT_S)

    async def _next(self) -> bytes:
        self._piece = asyncio.get_running_loop().create_future()
        self._asked.set()
        either: set[asyncio.Future[Any]] = {self._piece, self.task}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # What comes now would be missing in the middle
            self.give_up()
            raise
        if self._piece.done():
            return self._piece.result()
        if self.task.cancelled():
            raise closed()
        self.task.result()
        return b""

    async def _run(self, request: "httpx.Request") -> None:
        try:
            self._response = await self._client.send(request, stream=True)
            await self._hand(b"")
            async for piece in self._response.aiter_raw():
                await self._hand(piece)
        finally:
            self._is_bearable = False
            del request.extensions["trace"]
            if self._response is not None:
                await self._response.aclose()
                # An answer of httpx holds itself, and with it the body of its request: let go here,
                # it does not wait for the garbage collector
                del self._response.stream
            elif self._stream is not None:
                await self._stream.aclose()

    async def _hand(self, piece: bytes) -> None:
        self._asked.clear()
        if self._piece is not None and not self._piece.done():
            self._piece.set_result(piece)
        self._allow_end()
        await self._asked.wait()

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        self._is_bearable = False
        if event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]
        if event in _BEARABLE:
            self._allow_end()

    def _allow_end(self) -> None:
        if self._is_unwanted:
            raise asyncio.CancelledError
        self._is_bearable = True


def _make_client(
    transport: "httpx.AsyncBaseTransport | None", context: ssl.SSLContext | None, *, is_pinned: bool
) -> "httpx.AsyncClient":
    # Its command line, which it would load where others have brought click and pygments
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # as documented: no such module
    import httpx  # noqa: PLC0415 - 50 ms and 4 MB that a start without network does not need

    class Forgetful(httpx.Cookies):
        def extract_cookies(self, response: httpx.Response) -> None:
            """Keep none: what one person fetched says nothing about who fetches next."""

    class Client(httpx.AsyncClient):
        # To look for cookies in each answer took longer than to build the request
        cookies = Forgetful()  # type: ignore[override]  # a property that keeps them

    try:
        return Client(
            verify=context or True,
            timeout=httpx.Timeout(None),
            limits=httpx.Limits(
                max_connections=None,
                # Two hosts may share an address, but not the certificate of one connection
                max_keepalive_connections=0 if is_pinned else MAX_CONNECTIONS,
                keepalive_expiry=KEEP_ALIVE_S,
            ),
            headers=HEADERS,
            follow_redirects=False,
            # A proxy would look the name up again, and somewhere else
            trust_env=not is_pinned,
            # A proxy for the Internet is not for what runs on this machine
            mounts={f"all://{name}": None for name in _LOOPBACK},
            transport=transport,
        )
    except (ImportError, ValueError, httpx.InvalidURL) as err:
        # The value may hold a password: it is not repeated
        raise ConfigRefused(
            "the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: "
            "give an http:// or https:// address"
        ) from err


def _built(
    client: "httpx.AsyncClient", request: HttpRequest, limits: HttpLimits
) -> "httpx.Request":
    import httpx  # noqa: PLC0415 - loaded by now

    url = _parsed(request.url)
    headers, extensions = dict(request.headers), {}
    if request.address:
        headers["host"] = url.netloc.decode("ascii")
        # As it was written: httpx cannot spell out every name that somebody has registered
        extensions["sni_hostname"] = url.raw_host.decode("ascii")
        url = url.copy_with(host=request.address)
    return client.build_request(
        request.method,
        url,
        headers=headers,
        content=_moving(request.content, limits.moved),
        timeout=httpx.Timeout(limits.answer_s, connect=limits.connect_s, write=limits.write_s),
        extensions=extensions,
    )


def _moving(
    content: bytes | AsyncIterable[bytes], moved: Callable[[], None]
) -> bytes | AsyncIterable[bytes]:
    """Return the body; `moved` is told of each of its pieces."""
    if isinstance(content, bytes):
        return content

    async def pieces() -> AsyncIterator[bytes]:
        async for piece in content:
            yield piece
            # Asked for more: the last one has gone
            moved()

    return pieces()


@lru_cache(maxsize=64)
def _parsed(url: str) -> "httpx.URL":
    """Return the URL taken apart; a service is asked at the same ones all the time."""
    import httpx  # noqa: PLC0415 - loaded by now

    return httpx.URL(url)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors of httpx into ours."""
    import httpx  # noqa: PLC0415 - loaded by now

    try:
        yield
    except (httpx.ConnectTimeout, httpx.PoolTimeout) as err:
        raise NotReached("") from err
    except httpx.TimeoutException as err:
        raise TimeoutError from err
    except httpx.ConnectError as err:
        raise NotReached(str(err) or type(err).__name__) from err
    except (httpx.ReadError, httpx.RemoteProtocolError) as err:
        raise BrokenOff(str(err)) from err
    except httpx.ProxyError as err:
        raise UnfitRequest(_refusal(str(err))) from err
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as err:
        raise UnfitRequest(type(err).__name__) from err


def _refusal(said: str) -> str:
    """Return why a proxy leads no further; it says its status first, and then its own words."""
    status = said.partition(" ")[0]
    # Some proxies say 401 of a password that is wrong
    if status in {"401", "407"}:
        why = f"wants a user and its password ({status}): give http://USER:PASSWORD@HOST"
    elif status.isdecimal() and status.isascii():
        why = f"refused to connect to it (status {status}): is it allowed and reachable there?"
    else:
        why = "refused to connect to it"
    return f"the proxy in HTTPS_PROXY or ALL_PROXY {why}"
