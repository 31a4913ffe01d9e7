"""A request under way, in a task of its own: whoever waits for it may be cut off anywhere, twice.

A pool of httpcore loses a connection if a cancellation meets it between two steps: it shields
itself by means of anyio, which no `cancel` of asyncio heeds. So this task is cancelled once at
most, and only in steps that clean up behind themselves. Who is in which step, the trace tells.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import NetworkError

if TYPE_CHECKING:
    import httpx

# A call that is given up ends in a moment; nobody waits longer for it
GIVE_UP_TIMEOUT_S = 1.0

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
        request.extensions["trace"] = self._trace
        self.task = asyncio.create_task(self._run(request))

    async def response(self) -> "httpx.Response":
        """Return the response as far as its headers.

        Raises:
            httpx.HTTPError: nothing did.
            NetworkError: the client was closed meanwhile.
        """
        await self._next()
        if self._response is None:
            raise _closed()
        return self._response

    async def piece(self) -> bytes:
        """The next of the body; empty at its end. Raises as `response` does."""
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
            raise _closed()
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


def _closed() -> NetworkError:
    return NetworkError("no request is made any more: the agent is ending")
