"""Gateway connection: heartbeat, and a session that is resumed.

It is told of nothing that is not committed: it says again what came after, also to the next
process. What differs between platforms is their `GatewayDialect`.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import msgspec

from agent.channels.base import Pulse
from agent.channels.opcodes.address import MS_PER_S
from agent.channels.opcodes.session import GatewaySession, ResumableSession
from agent.channels.websocket import SocketClosed, WebSocket, opened
from agent.errors import ChannelError, ChannelUnavailable
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A gateway greets at once
HELLO_TIMEOUT_S = 20.0
# A server with thousands of channels, roles and threads says all of them in one payload
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
# A person's message is far shorter; of what is longer only the number is kept
MAX_CONTENT_BYTES = 1024 * 1024
# What came and is not committed; a gateway that says more is asked to say the rest again
MAX_WAITING = 500
# Where sessions that are gone are not always said to be, a connection that only ends may say it
MOST_FRUITLESS = 3
# About 41 s is usual; what a hostile one asks for must not become a storm or a silence
MIN_HEARTBEAT_S = 0.05
MAX_HEARTBEAT_S = 80.0
# A session that could not be taken up is begun anew after one to five seconds
ANEW_AFTER_S = (1.0, 5.0)
# Another connection is wished for once in hours; again so soon, it is not given at once
SOON_S = 60.0
# Any code but 1000 and 1001 leaves the session where it is
KEEP_SESSION = 4000

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME = 0, 1, 2, 6
_RECONNECT, _INVALID, _HELLO, _ACKNOWLEDGED = 7, 9, 10, 11

# An event's name and what it holds; the session, for whom it is about. When it returns, the event
# is committed; where it says so, how far that is is kept at once
Take = Callable[[str, msgspec.Raw, ResumableSession], Awaitable[bool]]
# The same as it comes, before its turn; it must not wait for anything
Glance = Callable[[str, msgspec.Raw, ResumableSession], None]


class GatewayPayload(msgspec.Struct, frozen=True):
    """Payload; its content is read by whoever knows its name."""

    op: int
    d: msgspec.Raw = msgspec.Raw(b"null")
    s: int | None = None
    t: str | None = None


class _Hello(msgspec.Struct, frozen=True):
    heartbeat_interval: float


class GatewayDialect(Protocol):
    """Dialect of one platform.

    Args:
        name: of the platform, for people.
        account: which bot, and what it wants to hear: a session goes on with what it began with.
        forgetting: codes of an end after which the session is gone.
        says_what_is_gone: whether a session that is gone is always said to be.
    """

    name: str
    account: str
    forgetting: frozenset[int]
    says_what_is_gone: bool

    async def address(self, begun: ResumableSession | None) -> str:
        """Return the address to connect to.

        Args:
            begun: the session that is taken up; None also where nobody greeted at its place.

        Raises:
            ChannelError: there is no place to be had.
        """

    async def introduction(self) -> dict[str, object]:
        """Return the first payload of a new session."""

    async def resumption(self, begun: ResumableSession) -> dict[str, object]:
        """Return the first payload of a resumed session."""

    def begun(self, ready: msgspec.Raw) -> ResumableSession:
        """Return the session that has begun.

        Raises:
            msgspec.DecodeError: it is none.
        """

    def refusal(self, code: int) -> ChannelError | None:
        """Return the meaning of a close code; None if another connection may work."""


class _Again(Exception):
    """The gateway wants another connection."""


class GatewayClient:
    """Gateway client of one bot."""

    def __init__(self, dialect: GatewayDialect, path: Path, pulse: Pulse, clock: Clock) -> None:
        self._dialect = dialect
        self._session = GatewaySession(path, dialect.account)
        self._pulse = pulse
        self._clock = clock
        self._glance: Glance = _pass_over
        # Where a session is to be taken up may be gone
        self._was_greeted = True
        self._wished_at_s = -SOON_S
        # Connections on end on which a session was to be taken up and nothing was said
        self._fruitless = 0

    async def run(self, take: Take, glance: Glance | None = None) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the connection ended, or is not to be had.
        """
        self._glance = glance or _pass_over
        await self._session.load()
        while True:
            with contextlib.suppress(_Again):
                await self._connection(take)

    async def _connection(self, take: Take) -> None:
        begun = self._session.begun if self._was_greeted else None
        self._was_greeted = False
        url = await self._dialect.address(begun)
        async with opened(url, max_bytes=MAX_PAYLOAD_BYTES) as socket:
            talk = _Talk(socket, self._session, self._pulse, self._dialect.name)
            try:
                interval_s = await talk.greeted()
                self._was_greeted = True
                await self._introduce(talk)
                await _first_to_fail(
                    self._beat(talk, interval_s), self._hear(talk), talk.work(take)
                )
            except SocketClosed as err:
                raise await self._ended(err, was_fruitless=not talk.has_heard) from err
            finally:
                # Nothing else leaves the session where it is
                await socket.close(KEEP_SESSION)
                await self._session.save()

    async def _introduce(self, talk: "_Talk") -> None:
        begun = self._session.begun
        if begun is None:
            await talk.say(_IDENTIFY, await self._dialect.introduction())
        else:
            await talk.say(_RESUME, await self._dialect.resumption(begun))

    async def _hear(self, talk: "_Talk") -> None:
        async for payload in talk.payloads():
            if payload.op == _DISPATCH:
                if payload.t == "READY":
                    self._begin(payload)
                elif payload.t == "RESUMED":
                    _log.info("%s: session resumed", self._dialect.name.lower())
                talk.queue(payload, self._glance)
            elif payload.op == _RECONNECT:
                await self._rest()
                raise _Again
            elif payload.op == _INVALID:
                await self._begin_anew(payload)

    async def _rest(self) -> None:
        """Wait a little where the gateway wished for another connection just before."""
        now_s = self._clock.monotonic_s()
        is_soon = now_s - self._wished_at_s < SOON_S
        self._wished_at_s = now_s
        if is_soon:
            await self._clock.sleep(random.uniform(*ANEW_AFTER_S))  # noqa: S311 - it spreads, it hides nothing

    def _begin(self, payload: GatewayPayload) -> None:
        try:
            self._session.begun = self._dialect.begun(payload.d)
        except msgspec.DecodeError as err:
            raise _unreadable(self._dialect.name) from err
        _log.info("%s: listening (account=%s)", self._dialect.name.lower(), self._session.begun.me)

    async def _begin_anew(self, payload: GatewayPayload) -> None:
        """Handle a refused session: resume it later if possible, else drop it."""
        name, was_begun = self._dialect.name, self._session.begun is not None
        if bytes(payload.d) != b"true":
            _log.info(
                "%s: session forgotten by the server; messages since then are lost", name.lower()
            )
            await self._session.forget()
        if not was_begun:
            raise ChannelUnavailable(f"{name} starts no session for now")
        await self._clock.sleep(random.uniform(*ANEW_AFTER_S))  # noqa: S311 - it spreads, it hides nothing
        raise _Again

    async def _beat(self, talk: "_Talk", interval_s: float) -> None:
        """Send heartbeats, and check that they are answered."""
        await self._clock.sleep(interval_s * random.random())  # noqa: S311 - as above
        while True:
            if not talk.is_acknowledged:
                raise ChannelUnavailable(f"{self._dialect.name}'s gateway no longer answers")
            await talk.beat()
            await self._clock.sleep(interval_s)

    async def _ended(self, closed: SocketClosed, *, was_fruitless: bool) -> ChannelError:
        self._fruitless = self._fruitless + 1 if was_fruitless else 0
        may_be_gone = not self._dialect.says_what_is_gone and self._fruitless >= MOST_FRUITLESS
        if closed.code in self._dialect.forgetting or may_be_gone:
            await self._session.forget()
        return self._dialect.refusal(closed.code) or closed


class _Talk:
    """Conversation over one connection."""

    def __init__(self, socket: WebSocket, session: GatewaySession, pulse: Pulse, name: str) -> None:
        self._socket = socket
        self._session = session
        self._pulse = pulse
        self._name = name
        self._waiting: asyncio.Queue[GatewayPayload] = asyncio.Queue(MAX_WAITING)
        self._decoder = msgspec.json.Decoder(GatewayPayload)
        self._is_behind = False
        self.is_acknowledged = True
        self.has_heard = False

    async def greeted(self) -> float:
        """Wait for the greeting and return the heartbeat interval in seconds."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                async for payload in self.payloads():
                    if payload.op == _HELLO:
                        hello = msgspec.json.decode(payload.d, type=_Hello)
                        interval_s = hello.heartbeat_interval / MS_PER_S
                        return min(max(interval_s, MIN_HEARTBEAT_S), MAX_HEARTBEAT_S)
        except (TimeoutError, msgspec.DecodeError) as err:
            raise ChannelUnavailable(f"{self._name}'s gateway sent no hello") from err
        raise ChannelUnavailable(f"{self._name}'s gateway sent no hello")

    async def payloads(self) -> AsyncIterator[GatewayPayload]:
        """Yield the payloads; heartbeat requests are answered here."""
        while True:
            message = await self._socket.receive()
            self._pulse.beat()
            try:
                payload = self._decoder.decode(message)
            except (msgspec.DecodeError, UnicodeDecodeError) as err:
                raise _unreadable(self._name) from err
            if payload.op == _ACKNOWLEDGED:
                self.is_acknowledged = True
            elif payload.op == _HEARTBEAT:
                await self.beat()
            else:
                yield payload

    async def say(self, op: int, told: object) -> None:
        await self._socket.send(msgspec.json.encode({"op": op, "d": told}).decode())

    async def beat(self) -> None:
        begun = self._session.begun
        self.is_acknowledged = False
        # What it is told of it may forget
        await self.say(_HEARTBEAT, begun.seq if begun is not None and begun.seq else None)

    def queue(self, payload: GatewayPayload, glance: Glance) -> None:
        self.has_heard = True
        if len(payload.d) > MAX_CONTENT_BYTES:
            payload = GatewayPayload(payload.op, s=payload.s, t=payload.t)
        if self._session.begun is not None:
            glance(payload.t or "", payload.d, self._session.begun)
        # Whoever was passed over comes before those after them
        self._is_behind = self._is_behind or self._waiting.full()
        if not self._is_behind:
            self._waiting.put_nowait(payload)

    async def work(self, take: Take) -> None:
        """Handle event by event, each committed before the next."""
        while not (self._is_behind and self._waiting.empty()):
            payload = await self._waiting.get()
            begun = self._session.begun
            if begun is None:
                continue
            is_kept = await take(payload.t or "", payload.d, begun)
            begun.seq = max(begun.seq, payload.s or 0)
            if is_kept or payload.t == "READY":
                await self._session.save()
        raise _Again


async def _first_to_fail(*parts: Awaitable[None]) -> None:
    """Run all at once; a failure of one ends the others."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _pass_over(_name: str, _told: msgspec.Raw, _begun: ResumableSession) -> None:
    """Ignore the payload: everything waits for its turn."""


def _unreadable(name: str) -> ChannelUnavailable:
    return ChannelUnavailable(f"{name}'s gateway says nothing readable")
