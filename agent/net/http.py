"""The one HTTP client of the agent: made on first use, shared by every part, one TLS context.

With `http_call` the only module that knows httpx. Certificates are always checked, no redirect
is followed, every read has a limit, and whatever goes wrong is a `NetworkError` with a sentence.
Bodies come in pieces: how much of one is kept is the reader's decision.
"""

import asyncio
import contextlib
import ssl
import sys
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agent import __version__
from agent.errors import ConfigRefused, NetworkError
from agent.net.http_call import GIVE_UP_TIMEOUT_S, HttpCall
from agent.net.tls import tls_context
from agent.system.clock import RELEASED_S

if TYPE_CHECKING:
    import httpx

# Name, connection and TLS each; a host that can be reached needs a fraction of it
CONNECT_TIMEOUT_S = 5.0
# A service that is going to answer has begun by then
FIRST_BYTE_TIMEOUT_S = 30.0
# A stream that is alive sends at least a comment in this time
BETWEEN_BYTES_TIMEOUT_S = 20.0
# One piece of a request on a slow uplink
WRITE_TIMEOUT_S = 20.0
# Idle connections are kept for the next turn, and let go before most servers do it
KEEP_ALIVE_S = 55.0
# Every part together on a small device
MAX_CONNECTIONS = 20
# Polls and streams that wait for something to happen, apart from those that want an answer now
MAX_HELD_OPEN = 20
# Calls end or time out; whoever waits longer for others to is told, and may come again
PLACE_TIMEOUT_S = 15.0

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_NO_COMPRESSION = frozenset({"", "identity"})


class HttpRequest(Struct, frozen=True):
    """Request; `content` is the whole body, or yields it piece by piece, once.

    Args:
        address: where to connect to, whatever the URL's host leads to by now; the host is still
            what the certificate must be for. Such a request passes no proxy.
        is_held_open: it waits for something to happen; it takes no place from those that do not.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] = b""
    address: str = ""
    is_held_open: bool = False


class HttpAnswer:
    """A status, headers, and a body that is read piece by piece."""

    def __init__(self, call: HttpCall, response: "httpx.Response", host: str) -> None:
        self.status = response.status_code
        self.host = host
        self._response = response
        self._call = call

    def header(self, name: str) -> str:
        """The header's value; empty if there is none."""
        return str(self._response.headers.get(name, ""))

    def headers(self) -> dict[str, str]:
        """All headers, their names in lower case."""
        return {name.lower(): str(value) for name, value in self._response.headers.items()}

    async def read(self, timeout_s: float = BETWEEN_BYTES_TIMEOUT_S) -> bytes:
        """The next piece of the body, at most 64 KB; empty at its end.

        Raises:
            NetworkError: cut off, too slow, or not readable.
        """
        # We ask for none: a small compressed body could unfold to any size
        if self.header("content-encoding").lower() not in _NO_COMPRESSION:
            raise NetworkError(f"{self.host} sent a compressed answer that was not requested")
        with _told(self.host, f"sent nothing for {timeout_s:.0f} s"):
            async with asyncio.timeout(timeout_s):
                return await self._call.piece()


class HttpClient:
    """Owns the shared client.

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
        # By whether they connect to addresses that were checked before
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._making = asyncio.Lock()
        # Not the pool's own limit: what it mislays would be missing there
        self._places = {
            False: asyncio.Semaphore(MAX_CONNECTIONS),
            True: asyncio.Semaphore(MAX_HELD_OPEN),
        }
        self._calls: set[HttpCall] = set()

    async def get(self) -> "httpx.AsyncClient":
        """The client itself, for what `exchange` does not cover.

        Raises:
            ConfigRefused: the proxy named by the environment cannot be used.
        """
        return await self._made(is_pinned=False)

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

    @contextlib.asynccontextmanager
    async def exchange(
        self, request: HttpRequest, first_byte_timeout_s: float = FIRST_BYTE_TIMEOUT_S
    ) -> AsyncIterator[HttpAnswer]:
        """Send a request; leaving the block early closes the connection at once.

        Raises:
            NetworkError: there is no answer.
        """
        host = _host_of(request.url)
        call = await self._begun(request, host, first_byte_timeout_s)
        try:
            with _told(host, f"did not answer within {first_byte_timeout_s:.0f} s"):
                # Headers that drip byte by byte pass every other limit
                async with asyncio.timeout(first_byte_timeout_s + 2 * CONNECT_TIMEOUT_S):
                    response = await call.response()
            yield HttpAnswer(call, response, host)
        finally:
            await call.aclose()

    async def _begun(
        self, request: HttpRequest, host: str, first_byte_timeout_s: float
    ) -> HttpCall:
        places = self._places[request.is_held_open]
        try:
            async with asyncio.timeout(PLACE_TIMEOUT_S):
                await places.acquire()
        except TimeoutError as err:
            raise NetworkError(f"{host} was not contacted: too many requests are running") from err
        try:
            client = await self._made(is_pinned=bool(request.address))
            with _told(host, ""):
                built = _built(client, request, first_byte_timeout_s)
            call = HttpCall(client, built, has_pool=self._transport is None)
        except BaseException:
            places.release()
            raise
        self._calls.add(call)

        def ended(task: asyncio.Task[None]) -> None:
            self._calls.discard(call)
            places.release()
            # Whoever waited has it; where nobody did, nobody is to be told
            if not task.cancelled():
                task.exception()

        call.task.add_done_callback(ended)
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

    async def _end_calls(self) -> None:
        if self._calls:
            tasks = [call.task for call in self._calls]
            await asyncio.wait(tasks, timeout=GIVE_UP_TIMEOUT_S)


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
            timeout=httpx.Timeout(CONNECT_TIMEOUT_S),
            limits=httpx.Limits(
                max_connections=None,
                # Two hosts may share an address, but not the certificate of one connection
                max_keepalive_connections=0 if is_pinned else MAX_CONNECTIONS,
                keepalive_expiry=KEEP_ALIVE_S,
            ),
            headers={"user-agent": f"barnacle/{__version__}", "accept-encoding": "identity"},
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
    client: "httpx.AsyncClient", request: HttpRequest, first_byte_timeout_s: float
) -> "httpx.Request":
    import httpx  # noqa: PLC0415 - loaded by now

    url = _parsed(request.url)
    headers, extensions = dict(request.headers), {}
    if request.address:
        headers["host"] = url.netloc.decode("ascii")
        extensions["sni_hostname"] = url.host
        url = url.copy_with(host=request.address)
    return client.build_request(
        request.method,
        url,
        headers=headers,
        content=request.content,
        timeout=httpx.Timeout(
            first_byte_timeout_s, connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S
        ),
        extensions=extensions,
    )


@lru_cache(maxsize=64)
def _parsed(url: str) -> "httpx.URL":
    """Return the URL taken apart; a service is asked at the same ones all the time."""
    import httpx  # noqa: PLC0415 - loaded by now

    return httpx.URL(url)


@contextlib.contextmanager
def _told(host: str, too_slow: str) -> Iterator[None]:
    """Turn what httpx, TLS and the operating system raise into a sentence."""
    import httpx  # noqa: PLC0415 - loaded by now

    try:
        yield
    except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout) as err:
        raise NetworkError(f"{host} {too_slow}") from err
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as err:
        raise NetworkError(f"{host} {_reason(err)}") from err


def _reason(err: Exception) -> str:
    import httpx  # noqa: PLC0415 - loaded by now

    text = str(err)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"cannot be trusted, its certificate is not valid here: {_likely_distrust(text)}"
    if any(clue in text for clue in ("Name or service", "name resolution", "No address")):
        return "was not found: is there a network, and is the name right?"
    if isinstance(err, httpx.ConnectTimeout | httpx.PoolTimeout):
        return f"could not be reached within {CONNECT_TIMEOUT_S:.0f} s: is there a network?"
    if isinstance(err, httpx.ConnectError):
        return "could not be reached: is it running, and is there a network?"
    if isinstance(err, httpx.ReadError | httpx.RemoteProtocolError):
        return "broke off the connection"
    return f"could not be used ({type(err).__name__})"


def _likely_distrust(text: str) -> str:
    # A clock that systemd has set to its own making looks right, and is behind
    if time.time() < RELEASED_S or "not yet valid" in text:
        return "the clock of this device is not set, or is behind"
    return "a sign-in page of this network answers instead, or a proxy of your own"


def _host_of(url: str) -> str:
    """Host and port for people to read: never a password or a query."""
    rest = url.partition("://")[2]
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return rest.rpartition("@")[2] or url
