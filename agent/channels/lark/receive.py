"""Long connection of Lark: opened, kept alive, each event acknowledged.

An event is acknowledged when `take` has returned: what failed comes again, with the same id. While
files are fetched, what waits for none is handed over at once.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs, urlsplit

from agent.channels import websocket
from agent.channels.base import Pulse
from agent.channels.lark import events, frames
from agent.channels.lark.client import LarkApi, text_in, unknown_app
from agent.channels.lark.events import LarkEvent
from agent.channels.urgent_first import Frame, UrgentFirst, Watched
from agent.channels.websocket import HandshakeRefused, WebSocket
from agent.errors import ChannelError, ChannelUnavailable
from agent.system.clock import Clock

# Where the platform does not say how often
PING_EVERY_S = 120.0
MIN_PING_EVERY_S, MAX_PING_EVERY_S = 5.0, 300.0
# Events that were taken; the platform repeats one that it heard nothing of for hours
MAX_TAKEN = 1000
# What a refused handshake says by a header
_NOT_KNOWN, _TOO_MANY = "514", "1000040350"

Take = Callable[[Watched, LarkEvent], Awaitable[None]]
# Whether nothing of it is left to take
Hurry = Callable[[LarkEvent], Awaitable[bool]]


class LarkReceiver:
    """Long connection; handles events one at a time."""

    def __init__(self, api: LarkApi, pulse: Pulse, clock: Clock) -> None:
        self._api = api
        self._pulse = pulse
        self._clock = clock
        self._taken: deque[str] = deque(maxlen=MAX_TAKEN)

    async def run(self, take: Take, hurry: Hurry) -> None:
        """Until cancelled.

        Raises:
            ChannelError: there is no connection any more.
        """
        told = await self._api.endpoint()
        url = _usable(text_in(told, "URL"), self._api.base_url)
        joining = frames.LarkFrameParts()
        async with (
            _opened(url) as connected,
            _pinging(connected, _service(url), _every_s(told)),
        ):

            async def ahead(message: Frame) -> None:
                await self._hurry(_frame(message), hurry, connected)

            coming = UrgentFirst(connected, self._pulse.beat, ahead)
            take_in_turn = partial(take, coming.watched)
            async with contextlib.aclosing(coming.messages()) as messages:
                async for message in messages:
                    frame = _frame(message)
                    if frame.method == frames.DATA:
                        await self._hear(frame, joining, take_in_turn, connected)

    async def _hear(
        self,
        frame: frames.LarkFrame,
        joining: frames.LarkFrameParts,
        take: Callable[[LarkEvent], Awaitable[None]],
        connected: WebSocket,
    ) -> None:
        begun_s = self._clock.monotonic_s()
        payload = joining.add(frame, begun_s)
        if payload is None:
            return
        told = events.read(payload)
        if told is not None and told.header.event_id not in self._taken:
            await take(told)
            if told.header.event_id:
                self._taken.append(told.header.event_id)
        took_ms = int((self._clock.monotonic_s() - begun_s) * 1000)
        await connected.send(frames.encode(frames.acknowledged(frame, took_ms)))

    async def _hurry(self, frame: frames.LarkFrame, hurry: Hurry, connected: WebSocket) -> None:
        # What comes in parts is longer than anything that cannot wait
        is_whole = frame.method == frames.DATA and frame.number("sum") <= 1
        told = events.read(frame.payload or b"") if is_whole else None
        known = told.header.event_id if told is not None else ""
        if told is not None and known and known not in self._taken and await hurry(told):
            # Seen again in its turn, and passed over then
            self._taken.append(known)
            await connected.send(frames.encode(frames.acknowledged(frame, 0)))


@contextlib.asynccontextmanager
async def _opened(url: str) -> AsyncIterator[WebSocket]:
    try:
        async with websocket.opened(url) as connected:
            yield connected
    except HandshakeRefused as err:
        code = err.headers.get("handshake-status", "")
        if code == _NOT_KNOWN and err.headers.get("handshake-autherrcode") != _TOO_MANY:
            raise unknown_app(f"handshake {code}") from err
        raise


@contextlib.asynccontextmanager
async def _pinging(connected: WebSocket, service: int, every_s: float) -> AsyncIterator[None]:
    async def ping() -> None:
        # Whoever reads hears of a connection that has ended
        with contextlib.suppress(ChannelError):
            while True:
                await connected.send(frames.encode(frames.ping(service)))
                await asyncio.sleep(every_s)

    task = asyncio.ensure_future(ping())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _frame(message: str | bytes) -> frames.LarkFrame:
    try:
        return frames.decode(message.encode() if isinstance(message, str) else message)
    except frames.LarkFrameError as err:
        raise ChannelUnavailable(f"unreadable frame from Lark: {err}") from err


def _usable(url: str, base_url: str) -> str:
    """Return the address to connect to; without TLS only if the configuration has none either."""
    schemes = {"wss"} if base_url.startswith("https://") else {"wss", "ws"}
    if urlsplit(url).scheme not in schemes:
        raise ChannelUnavailable("Lark gave no usable address for the connection")
    return url


def _service(url: str) -> int:
    told = parse_qs(urlsplit(url).query).get("service_id", ["0"])[0]
    return int(told) if told.isascii() and told.isdigit() and len(told) < 10 else 0  # noqa: PLR2004 - as in a frame


def _every_s(told: dict[str, object]) -> float:
    config = told.get("ClientConfig")
    wanted = config.get("PingInterval") if isinstance(config, dict) else None
    every_s = float(wanted) if isinstance(wanted, int) else PING_EVERY_S
    return min(max(every_s, MIN_PING_EVERY_S), MAX_PING_EVERY_S)
