"""The one HTTP client of the agent: made on first use, shared by every part, one TLS context.

What goes straight to a server goes by `direct`. A proxy, an address that was checked before, and a
body that is made while it is sent need httpx, which `http_call` alone knows; it takes 7 MB and a
millisecond a request. Certificates are always checked, no redirect is followed, every read has a
limit, and whatever goes wrong is a `NetworkError` with a sentence. Bodies come in pieces: how much
of one is kept is the reader's decision.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from agent.errors import NetworkError
from agent.net.request import MAX_CONNECTIONS, HttpLimits, HttpRequest, HttpWay, told
from agent.net.tls import tls_context

if TYPE_CHECKING:
    import httpx

    from agent.net.direct import DirectConnections
    from agent.net.http_call import HttpCalls

__all__ = ["HttpAnswer", "HttpClient", "HttpRequest"]

# Name, connection and TLS each; a host that can be reached needs a fraction of it
CONNECT_TIMEOUT_S = 5.0
# A service that is going to answer has begun by then
FIRST_BYTE_TIMEOUT_S = 30.0
# A stream that is alive sends at least a comment in this time
BETWEEN_BYTES_TIMEOUT_S = 20.0
# One piece of a request on a slow uplink
WRITE_TIMEOUT_S = 20.0
# Polls and streams that wait for something to happen, apart from those that want an answer now
MAX_HELD_OPEN = 20
# Calls end or time out; whoever waits longer for others to is told, and may come again
PLACE_TIMEOUT_S = 15.0

_NO_COMPRESSION = frozenset({"", "identity"})
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


class HttpAnswer:
    """A status, headers, and a body that is read piece by piece.

    Args:
        headers: by their names in lower case.
        piece: returns the next of the body, and waits so many seconds for it.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        piece: Callable[[float], Awaitable[bytes]],
        host: str,
    ) -> None:
        self.status = status
        self.host = host
        self._headers = headers
        self._piece = piece

    def header(self, name: str) -> str:
        """The header's value; empty if there is none."""
        return self._headers.get(name.lower(), "")

    def headers(self) -> dict[str, str]:
        """All headers, their names in lower case."""
        return dict(self._headers)

    async def read(self, timeout_s: float = BETWEEN_BYTES_TIMEOUT_S) -> bytes:
        """The next piece of the body, at most 64 KB; empty at its end.

        Raises:
            NetworkError: cut off, too slow, or not readable.
        """
        # We ask for none: a small compressed body could unfold to any size
        if self.header("content-encoding").lower() not in _NO_COMPRESSION:
            raise NetworkError(f"{self.host} sent a compressed answer that was not requested")
        with told(self.host, f"sent nothing for {timeout_s:.0f} s", CONNECT_TIMEOUT_S):
            return await self._piece(timeout_s)


class HttpClient:
    """Owns the shared connections.

    Args:
        transport: replaces the network; for tests.
        context: trusts others than the system does; for a server of one's own.
    """

    def __init__(
        self,
        transport: "httpx.AsyncBaseTransport | None" = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._transport = transport
        self._context = context
        # What every request can go by, and what those can that need nothing of it
        self._by_httpx: HttpCalls | None = None
        self._direct: DirectConnections | None = None
        self._is_open = False
        self._opening = asyncio.Lock()
        # Not the pool's own limit: what it mislays would be missing there
        self._places = {
            False: asyncio.Semaphore(MAX_CONNECTIONS),
            True: asyncio.Semaphore(MAX_HELD_OPEN),
        }

    @contextlib.asynccontextmanager
    async def exchange(
        self, request: HttpRequest, first_byte_timeout_s: float = FIRST_BYTE_TIMEOUT_S
    ) -> AsyncIterator[HttpAnswer]:
        """Send a request; leaving the block early closes the connection at once.

        Raises:
            NetworkError: there is no answer.
            ConfigRefused: the proxy named by the environment cannot be used.
        """
        host = _host_of(request.url)
        way = await self._way_of(request)
        release = await self._placed(request, host)
        with told(host, f"did not answer within {first_byte_timeout_s:.0f} s", CONNECT_TIMEOUT_S):
            # Headers that drip byte by byte pass every other limit
            whole_s = first_byte_timeout_s + 2 * CONNECT_TIMEOUT_S
            async with asyncio.timeout(whole_s) as limit:
                # A long request on a slow uplink takes its time, as long as it moves
                moved = partial(_begin_again, limit, whole_s)
                limits = HttpLimits(CONNECT_TIMEOUT_S, WRITE_TIMEOUT_S, first_byte_timeout_s, moved)
                answered = await way.ask(request, limits, release)
        try:
            yield HttpAnswer(answered.status, answered.headers, answered.piece, host)
        finally:
            await answered.aclose()

    async def open(self) -> None:
        """Load what requests need, ahead of the first one."""
        if not self._is_open:
            async with self._opening:
                if not self._is_open:
                    # It and reading certificates take longer than a lease renewal may
                    self._direct = await asyncio.to_thread(self._opened)
                    self._is_open = True

    async def aclose(self) -> None:
        """Give up what is under way, and close every connection."""
        async with self._opening:
            for way in (self._direct, self._by_httpx):
                if way is not None:
                    await way.aclose()

    async def _way_of(self, request: HttpRequest) -> HttpWay:
        await self.open()
        if self._direct is not None and self._direct.takes(request):
            return self._direct
        if self._by_httpx is None:
            from agent.net.http_call import HttpCalls  # noqa: PLC0415 - few requests need httpx

            self._by_httpx = HttpCalls(self._transport, self._context)
        return self._by_httpx

    def _opened(self) -> "DirectConnections | None":
        """Return what needs no httpx; None where all requests pass a proxy or another network."""
        has_proxy = any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES)
        if self._transport is not None or has_proxy:
            return None
        from agent.net.direct import DirectConnections  # noqa: PLC0415 - a start without network does not need it

        return DirectConnections(self._context or tls_context())

    async def _placed(self, request: HttpRequest, host: str) -> Callable[[], None]:
        """Take a place among those that are running; return what gives it back."""
        places = self._places[request.is_held_open]
        try:
            async with asyncio.timeout(PLACE_TIMEOUT_S):
                await places.acquire()
        except TimeoutError as err:
            raise NetworkError(f"{host} was not contacted: too many requests are running") from err
        return places.release


def _begin_again(limit: asyncio.Timeout, whole_s: float) -> None:
    # Some servers answer before they have all of a request, and it goes on moving
    with contextlib.suppress(RuntimeError):
        limit.reschedule(asyncio.get_running_loop().time() + whole_s)


def _host_of(url: str) -> str:
    """Host and port for people to read: never a password or a query."""
    rest = url.partition("://")[2]
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return rest.rpartition("@")[2] or url
