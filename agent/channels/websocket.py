"""WebSocket to a platform: opened, read and written under limits, with keep-alive.

What the library raises goes no further: a connection that ends is a `ChannelUnavailable` that knows
the code it ended with, for platforms that say by it what is wrong.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent import __version__
from agent.errors import ChannelUnavailable
from agent.net.tls import tls_context
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

# Name, network, TLS and the handshake
OPEN_TIMEOUT_S = 20.0
# A message that the network does not take in this time never goes
SEND_TIMEOUT_S = 20.0
# The other side's word that it has heard the end; then the connection is cut
CLOSE_TIMEOUT_S = 2.0
# Silence is broken by a question this often, and an answer has as long
PING_EVERY_S = 25.0
# The largest message of any platform that we speak to is some hundred KB
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
# Messages that wait here; more wait at the platform
MAX_WAITING = 16
MAX_REASON_CHARS = 200


Tap = Callable[[str | bytes], None]
# What is shown every message besides; for recordings
_TAP: ContextVar[Tap | None] = ContextVar("websocket_tap", default=None)


@contextlib.contextmanager
def tapped(tap: Tap) -> Iterator[None]:
    """Show `tap` every message that tasks begun in this block receive."""
    token = _TAP.set(tap)
    try:
        yield
    finally:
        _TAP.reset(token)


class SocketClosed(ChannelUnavailable):
    """The connection has ended.

    Args:
        code: as RFC 6455 and the platform define it; 1006 where none was said.
        reason: in the other side's words, cleaned; may be empty.
    """

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = printable_line(reason, MAX_REASON_CHARS)
        said = f": {self.reason}" if self.reason else ""
        super().__init__(f"the platform has ended the connection with {code}{said}")


class HandshakeRefused(ChannelUnavailable):
    """The server refuses the connection.

    Args:
        status: of HTTP.
        headers: with names in lower case.
    """

    def __init__(self, host: str, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        super().__init__(f"{host} refuses the connection with status {status}")


class WebSocket:
    """WebSocket connection; made by `opened`."""

    def __init__(self, connection: "ClientConnection") -> None:
        self._connection = connection

    async def messages(self, beat: Callable[[], None]) -> AsyncGenerator[str | bytes, None]:
        """Yield the messages, text as str.

        Args:
            beat: called at every sign of life, messages or not.

        Raises:
            SocketClosed: it has ended.
            ChannelUnavailable: it gives no sign of life any more.
        """
        while True:
            try:
                async with asyncio.timeout(PING_EVERY_S):
                    message = await self.receive()
            except TimeoutError:
                await self._ask_for_life()
                beat()
                continue
            beat()
            yield message

    async def receive(self) -> str | bytes:
        """Return the next message; a cancelled call loses none.

        Raises:
            SocketClosed: it has ended.
        """
        with _closing():
            message = await self._connection.recv()
        if (tap := _TAP.get()) is not None:
            tap(message)
        return message

    async def send(self, message: str | bytes) -> None:
        """Send a message.

        Raises:
            SocketClosed: it has ended.
            ChannelUnavailable: the network does not take it.
        """
        try:
            with _closing():
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await self._connection.send(message)
        except TimeoutError as err:
            raise ChannelUnavailable("the platform does not read from its connection") from err

    async def close(self, code: int = 1000) -> None:
        """Close with a code."""
        await self._connection.close(code)

    async def _ask_for_life(self) -> None:
        try:
            with _closing():
                async with asyncio.timeout(PING_EVERY_S):
                    await (await self._connection.ping())
        except TimeoutError as err:
            raise ChannelUnavailable("the platform's connection no longer answers") from err


@contextlib.asynccontextmanager
async def opened(
    url: str, headers: Mapping[str, str] | None = None, max_bytes: int = MAX_MESSAGE_BYTES
) -> AsyncIterator[WebSocket]:
    """Open a connection for the length of the block.

    Raises:
        HandshakeRefused: the server does not let us talk.
        ChannelUnavailable: there is no connection to be had.
    """
    connection = await _connect(url, headers or {}, max_bytes)
    try:
        yield WebSocket(connection)
    finally:
        await connection.close()


async def _connect(url: str, headers: Mapping[str, str], max_bytes: int) -> "ClientConnection":
    from websockets.asyncio.client import connect  # noqa: PLC0415 - where a platform needs it
    from websockets.exceptions import InvalidStatus, WebSocketException  # noqa: PLC0415 - as above

    place = urlsplit(url)
    host = place.hostname or url
    # Reading certificates takes longer than a lease renewal may
    context = await asyncio.to_thread(tls_context) if place.scheme == "wss" else None
    try:
        return await connect(
            url,
            ssl=context,
            additional_headers=dict(headers),
            user_agent_header=f"barnacle/{__version__}",
            compression=None,
            open_timeout=OPEN_TIMEOUT_S,
            close_timeout=CLOSE_TIMEOUT_S,
            # Signs of life are asked for where they are counted
            ping_interval=None,
            max_size=max_bytes,
            max_queue=MAX_WAITING,
        )
    except InvalidStatus as err:
        found = {name.lower(): value for name, value in err.response.headers.raw_items()}
        raise HandshakeRefused(host, err.response.status_code, found) from err
    except (OSError, TimeoutError, WebSocketException, ValueError) as err:
        reason = printable_line(str(err) or type(err).__name__, MAX_REASON_CHARS)
        raise ChannelUnavailable(f"cannot connect to {host}: {reason}") from err


@contextlib.contextmanager
def _closing() -> Iterator[None]:
    from websockets.exceptions import ConnectionClosed  # noqa: PLC0415 - a connection has it

    try:
        yield
    except ConnectionClosed as err:
        told = err.rcvd
        # What ends without a word has the code that RFC 6455 keeps for it
        raise SocketClosed(told.code if told else 1006, told.reason if told else "") from err
