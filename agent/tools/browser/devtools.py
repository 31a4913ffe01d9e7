"""DevTools protocol over a socket: orders to the browser, its answers and its events.

Messages are JSON with a zero byte behind each. All that comes in may be a page's words; what is too
long, or none, ends the connection.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agent.errors import BrowserFailed
from agent.text.printable import printable_line

# A screenshot in base64; everything else is a fraction of it
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# The browser itself answers at once; a page that is busy holds up what asks the page
ANSWER_TIMEOUT_S = 15.0
_MAX_REASON_CHARS = 200
_END = b"\0"
_NONE: Mapping[str, object] = {}


class BrowserMessage(msgspec.Struct, frozen=True, rename="camel"):
    """A message of the browser: an answer has an `id`, an event a `method`."""

    id: int = 0
    method: str = ""
    session_id: str = ""
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] | None = None


Hear = Callable[[BrowserMessage], None]


class DevTools:
    """A connection to the browser.

    Args:
        hear: called with each event; it must not wait.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hear: Hear
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._hear = hear
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[BrowserMessage]] = {}
        self._is_closed = False

    async def call(
        self,
        method: str,
        params: Mapping[str, object] = _NONE,
        session: str = "",
        limit_s: float = ANSWER_TIMEOUT_S,
    ) -> dict[str, Any]:
        """Return the browser's answer.

        Raises:
            BrowserFailed: it refuses, is gone, or did not answer and was closed.
        """
        answer: asyncio.Future[BrowserMessage] = asyncio.get_running_loop().create_future()
        number = self._send(method, session, params)
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(limit_s):
                message = await answer
        except TimeoutError as err:
            # What is stuck once stays stuck: a browser without its connection ends
            self.close()
            raise BrowserFailed(
                f"the page did not answer within {limit_s:g} s, so the browser was closed"
            ) from err
        finally:
            del self._waiting[number]
        if message.error is not None:
            reason = str(message.error.get("message", ""))
            raise BrowserFailed(f"the browser refuses: {printable_line(reason, _MAX_REASON_CHARS)}")
        return message.result

    def tell(self, method: str, params: Mapping[str, object] = _NONE, session: str = "") -> None:
        """Give an order without waiting for its answer; a browser that is gone takes none."""
        with contextlib.suppress(BrowserFailed):
            self._send(method, session, params)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def listen(self) -> None:
        """Read until the browser is gone or says what no browser says."""
        try:
            while message := await self._next():
                self._take(message)
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection, which ends the browser."""
        self._is_closed = True
        # What was not sent yet is of no use to a browser that ends
        self._writer.transport.abort()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(BrowserFailed("the browser ended"))

    def _send(self, method: str, session: str, params: Mapping[str, object]) -> int:
        if self._is_closed:
            raise BrowserFailed("the browser ended")
        self._last_id += 1
        order = {"id": self._last_id, "method": method, "params": params}
        if session:
            order["sessionId"] = session
        self._writer.write(msgspec.json.encode(order) + _END)
        return self._last_id

    async def _next(self) -> BrowserMessage | None:
        try:
            line = await self._reader.readuntil(_END)
            return msgspec.json.decode(line[:-1], type=BrowserMessage)
        except (
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            msgspec.DecodeError,
            RecursionError,
            OSError,
        ):
            return None

    def _take(self, message: BrowserMessage) -> None:
        if message.method:
            self._hear(message)
        elif (answer := self._waiting.get(message.id)) is not None and not answer.done():
            answer.set_result(message)
