"""The gateway: one connection, its heart, and a session that is taken up again.

The gateway is told of nothing that is not committed: it says again what came after, also to the
next process. How long it waits for that is its own; after some minutes it begins anew.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from agent.channels.base import Pulse
from agent.channels.discord.api import DiscordApi, unknown_bot
from agent.channels.discord.events import Hello, Payload, Ready, read
from agent.channels.discord.session import Begun, Session
from agent.channels.socket import Socket, SocketClosed, opened
from agent.clock import Clock
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable

_log = logging.getLogger(__name__)

# The gateway greets at once
HELLO_TIMEOUT_S = 20.0
# What came and is not committed; a gateway that says more is asked to say it again
MAX_WAITING = 500
# Discord's own is 41 s; what is asked for by a hostile one must not become a storm or a silence
MIN_HEARTBEAT_S = 0.05
MAX_HEARTBEAT_S = 80.0
# A session that could not be taken up is begun anew after one to five seconds, as it is wished
ANEW_AFTER_S = (1.0, 5.0)
# Any code but 1000 and 1001 leaves the session where it is
KEEP_SESSION = 4000
MS_PER_S = 1000

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME = 0, 1, 2, 6
_RECONNECT, _INVALID, _HELLO, _ACKNOWLEDGED = 7, 9, 10, 11
_QUERY = "/?v=10&encoding=json"
# Guilds, messages in them, and private ones; and what is in messages that do not call us
_INTENTS = (1 << 0) | (1 << 9) | (1 << 12)
_CONTENT = 1 << 15
# Not authenticated, a sequence that it never had, a session that is too old
_SESSION_GONE = frozenset({4003, 4007, 4009})
_BROKEN = "this version of the agent cannot talk to Discord any more: update it"
_FATAL = {
    4010: _BROKEN,
    4011: "the bot is in more servers than one connection takes: use a bot of your own",
    4012: _BROKEN,
    4013: _BROKEN,
    4014: 'Discord does not let the bot read every message: switch on "Message Content Intent" on '
    "the page Bot of the application at https://discord.com/developers/applications, or set "
    'groups = "mention"',
}

# An event's name and what it holds; the session, for whom it is about
Take = Callable[[str, msgspec.Raw, Begun], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears what the gateway says.

    Args:
        at_once: of each event as it comes; it must not wait for anything.
        in_turn: of each by itself; when it returns the event is committed, and where it says so how
            far that is is kept at once.
        begun: a session is new; what it raises does no harm.
    """

    at_once: Callable[[str, msgspec.Raw, Begun], None]
    in_turn: Take
    begun: Callable[[Begun], Awaitable[None]]


class _Again(Exception):
    """The gateway wishes for another connection."""


class Gateway:
    """Listens for one bot."""

    def __init__(
        self, api: DiscordApi, path: Path, pulse: Pulse, clock: Clock, *, reads_all: bool
    ) -> None:
        self._api = api
        self._intents = _INTENTS | (_CONTENT if reads_all else 0)
        # A session goes on with what it was begun with
        self._session = Session(path, f"{api.account} {self._intents}")
        self._pulse = pulse
        self._clock = clock
        # Where a session is to be taken up may be gone; then the gateway's own address is asked for
        self._was_greeted = True

    async def run(self, ears: Ears) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the connection ended, or is not to be had.
        """
        await self._session.load()
        while True:
            with contextlib.suppress(_Again):
                await self._connection(ears)

    async def _connection(self, ears: Ears) -> None:
        begun = self._session.begun
        url = begun.url if begun is not None and self._was_greeted else await self._address()
        self._was_greeted = False
        async with opened(_checked(url, self._api.base_url) + _QUERY) as socket:
            talk = _Talk(socket, self._session, self._pulse)
            try:
                interval_s = await talk.greeted()
                self._was_greeted = True
                await self._introduce(talk)
                await _first_to_fail(
                    self._beat(talk, interval_s), self._hear(talk, ears), talk.work(ears)
                )
            except SocketClosed as err:
                raise await self._ended(err) from err
            finally:
                # Nothing else leaves the session where it is
                await socket.close(KEEP_SESSION)
                await self._session.save()

    async def _address(self) -> str:
        told = await self._api.call("GET", "/gateway/bot")
        limit = told.get("session_start_limit") if isinstance(told, dict) else None
        url = told.get("url") if isinstance(told, dict) else None
        if not isinstance(url, str):
            raise ChannelUnavailable("Discord does not say where its gateway is")
        if isinstance(limit, dict) and limit.get("remaining") == 0:
            after = limit.get("reset_after")
            wait_s = after / MS_PER_S if isinstance(after, int) else None
            raise ChannelUnavailable(
                "the bot has begun too many sessions with Discord today", retry_after_s=wait_s
            )
        return url

    async def _introduce(self, talk: "_Talk") -> None:
        token, begun = self._api.token.reveal(), self._session.begun
        if begun is not None:
            told = {"token": token, "session_id": begun.session_id, "seq": begun.seq}
            await talk.say(_RESUME, told)
            return
        names = {"os": "linux", "browser": "barnacle", "device": "barnacle"}
        await talk.say(_IDENTIFY, {"token": token, "intents": self._intents, "properties": names})

    async def _hear(self, talk: "_Talk", ears: Ears) -> None:
        async for payload in talk.payloads():
            if payload.op == _DISPATCH:
                if payload.t == "READY":
                    self._begin(payload)
                elif payload.t == "RESUMED":
                    _log.info("the session with Discord goes on")
                await talk.queue(payload, ears)
            elif payload.op == _RECONNECT:
                raise _Again
            elif payload.op == _INVALID:
                await self._begin_anew(payload)

    def _begin(self, payload: Payload) -> None:
        ready = read(payload.d, Ready)
        me, application = ready.user.id, ready.application.id
        self._session.begun = Begun(
            self._session.account, ready.session_id, ready.resume_gateway_url, me, application
        )
        _log.info("listening to Discord as %s", me)

    async def _begin_anew(self, payload: Payload) -> None:
        """The session is not taken up: at once again where it may be, else without it."""
        if bytes(payload.d) != b"true":
            _log.info("Discord has forgotten the session; what came meanwhile is not said again")
            await self._session.forget()
        await self._clock.sleep(random.uniform(*ANEW_AFTER_S))  # noqa: S311 - it spreads, it hides nothing
        raise _Again

    async def _beat(self, talk: "_Talk", interval_s: float) -> None:
        """Keep it alive, and see whether it is."""
        await self._clock.sleep(interval_s * random.random())  # noqa: S311 - as above
        while True:
            if not talk.is_acknowledged:
                raise ChannelUnavailable("Discord's gateway has fallen silent")
            await talk.beat()
            await self._clock.sleep(interval_s)

    async def _ended(self, closed: SocketClosed) -> ChannelError:
        if closed.code == 4004:  # noqa: PLR2004 - of Discord: the token is none
            return unknown_bot()
        if sentence := _FATAL.get(closed.code):
            return ChannelRefused(sentence)
        if closed.code in _SESSION_GONE:
            await self._session.forget()
        return closed


class _Talk:
    """What is said over one connection."""

    def __init__(self, socket: Socket, session: Session, pulse: Pulse) -> None:
        self._socket = socket
        self._session = session
        self._pulse = pulse
        self._waiting: asyncio.Queue[Payload] = asyncio.Queue(MAX_WAITING)
        self._decoder = msgspec.json.Decoder(Payload)
        self.is_acknowledged = True

    async def greeted(self) -> float:
        """How often the gateway wants to be told that we are there, in seconds."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                async for payload in self.payloads():
                    if payload.op == _HELLO:
                        interval_s = read(payload.d, Hello).heartbeat_interval / MS_PER_S
                        return min(max(interval_s, MIN_HEARTBEAT_S), MAX_HEARTBEAT_S)
        except (TimeoutError, msgspec.DecodeError) as err:
            raise ChannelUnavailable("Discord's gateway does not greet") from err
        raise ChannelUnavailable("Discord's gateway does not greet")

    async def payloads(self) -> AsyncIterator[Payload]:
        """What it says; its questions about our heart are answered here."""
        while True:
            message = await self._socket.receive()
            self._pulse.beat()
            try:
                payload = self._decoder.decode(message)
            except (msgspec.DecodeError, UnicodeDecodeError) as err:
                raise ChannelUnavailable("Discord's gateway says nothing readable") from err
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

    async def queue(self, payload: Payload, ears: Ears) -> None:
        begun = self._session.begun
        if begun is None:
            return
        try:
            ears.at_once(payload.t or "", payload.d, begun)
            self._waiting.put_nowait(payload)
        except asyncio.QueueFull as err:
            raise ChannelUnavailable("Discord says more than can be kept now") from err

    async def work(self, ears: Ears) -> None:
        """Event by event, each committed before the next."""
        while True:
            payload = await self._waiting.get()
            begun = self._session.begun
            if begun is None:
                continue
            if payload.t == "READY":
                await ears.begun(begun)
                is_kept = True
            else:
                is_kept = await ears.in_turn(payload.t or "", payload.d, begun)
            begun.seq = max(begun.seq, payload.s or 0)
            if is_kept:
                await self._session.save()


async def _first_to_fail(*parts: Awaitable[None]) -> None:
    """All at once; what one raises ends the others."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _checked(url: str, base_url: str) -> str:
    """The gateway's address: the token goes there, so never in the clear where it need not.

    Raises:
        ChannelUnavailable: it is none.
    """
    place = urlsplit(url)
    schemes = {"wss"} if base_url.startswith("https:") else {"ws", "wss"}
    if place.scheme not in schemes or not place.netloc:
        raise ChannelUnavailable("Discord's gateway is at no address that can be trusted")
    return f"{place.scheme}://{place.netloc}{place.path.rstrip('/')}"
