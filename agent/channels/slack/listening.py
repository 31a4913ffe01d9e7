"""Socket Mode: what people say, buttons and commands, each acknowledged when it is kept.

A connection that Slack wants to end is followed by another before it goes, so that nothing falls
between them. What was not acknowledged comes again, and is known by its number.
"""

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.slack.api import SlackApi
from agent.channels.slack.asking import Asking
from agent.channels.slack.events import Command, Envelope, EventCall, Interaction
from agent.channels.slack.fetching import Fetching
from agent.channels.slack.understanding import Groups, commanded, is_for_us, understood
from agent.channels.socket import Socket, SocketClosed, opened
from agent.clock import Clock
from agent.errors import ChannelRefused, ChannelUnavailable

_log = logging.getLogger(__name__)

Kind = TypeVar("Kind")

# The greeting comes with the connection
HELLO_TIMEOUT_S = 10.0
# What is still under way on a connection that ends; the next one waits, and has 3 s to acknowledge
DRAIN_S = 1.0
# Connections live for hours; where this many end in a minute, whoever begins again waits longer
MOST_BEGUN, BEGUN_WITHIN_S = 4, 60.0
# Slack repeats what was not acknowledged for some minutes
MAX_SEEN = 2000


@dataclass(frozen=True, slots=True)
class Ears:
    """What a message passes on its way in."""

    api: SlackApi
    asking: Asking
    questions: OpenQuestions
    fetching: Fetching
    groups: Groups


@dataclass(frozen=True, slots=True)
class _Line:
    socket: Socket
    end: contextlib.AsyncExitStack


class Listening:
    """Hears for one app."""

    def __init__(self, ears: Ears, pulse: Pulse, clock: Clock) -> None:
        self._ears = ears
        self._pulse = pulse
        self._clock = clock
        self._me = ""
        self._seen: deque[str] = deque(maxlen=MAX_SEEN)

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this app listen.
        """
        told = await self._ears.api.call("auth.test", {})
        self._me = str(told.get("user_id") or "")
        if not self._me:
            raise ChannelUnavailable("Slack does not say who the app is")
        begun_s = deque([self._clock.monotonic_s()], maxlen=MOST_BEGUN)
        lines = [await self._begun()]
        try:
            while True:
                await self._hear(lines[0].socket, deliver)
                now_s = self._clock.monotonic_s()
                if len(begun_s) == MOST_BEGUN and now_s - begun_s[0] < BEGUN_WITHIN_S:
                    raise ChannelUnavailable("Slack ends every connection as soon as it is open")
                begun_s.append(now_s)
                lines.append(await self._begun())
                await self._drain(lines[0].socket, deliver)
                await lines.pop(0).end.aclose()
        finally:
            for line in lines:
                await line.end.aclose()

    async def _begun(self) -> _Line:
        """A connection that has greeted us."""
        url = await self._ears.api.socket_url()
        async with contextlib.AsyncExitStack() as stack:
            socket = await stack.enter_async_context(opened(url))
            try:
                async with asyncio.timeout(HELLO_TIMEOUT_S):
                    greeting = _read(await socket.receive(), Envelope)
            except TimeoutError as err:
                raise ChannelUnavailable("Slack does not greet us") from err
            if greeting is None or greeting.type != "hello":
                raise ChannelUnavailable("Slack does not greet us as documented")
            self._pulse.beat()
            return _Line(socket, stack.pop_all())

    async def _hear(self, socket: Socket, deliver: Deliver) -> None:
        """Return when Slack wants to end this connection."""
        async with contextlib.aclosing(socket.messages(self._pulse.beat)) as messages:
            async for message in messages:
                if not await self._take(socket, message, deliver):
                    return

    async def _drain(self, socket: Socket, deliver: Deliver) -> None:
        """What has been said there already; the rest comes on the next connection."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + DRAIN_S
        while loop.time() < until_s:
            try:
                async with asyncio.timeout_at(until_s):
                    message = await socket.receive()
                await self._take(socket, message, deliver)
            except (TimeoutError, SocketClosed):
                return

    async def _take(self, socket: Socket, message: str | bytes, deliver: Deliver) -> bool:
        """Whether the connection goes on."""
        envelope = _read(message, Envelope)
        if envelope is None:
            return True
        if envelope.type == "disconnect":
            _check(envelope)
            return False
        await self._open(envelope, deliver)
        if envelope.envelope_id:
            taken = msgspec.json.encode({"envelope_id": envelope.envelope_id})
            await socket.send(taken.decode())
        return True

    async def _open(self, envelope: Envelope, deliver: Deliver) -> None:
        if envelope.type == "events_api":
            call = _read(envelope.payload, EventCall)
            if call is not None:
                await self._heard(call, deliver)
        elif envelope.type == "interactive":
            pressed = _read(envelope.payload, Interaction)
            if pressed is not None:
                self._ears.asking.press(pressed)
        elif envelope.type == "slash_commands":
            await self._obey(envelope, deliver)

    async def _heard(self, call: EventCall, deliver: Deliver) -> None:
        event, ears = call.event, self._ears
        if not is_for_us(event, self._me, ears.groups):
            return
        inbound = understood(event, self._me, self._clock.wall_s())
        if inbound.message_id in self._seen:
            return
        if not ears.questions.answer(inbound):
            await deliver(await ears.fetching.with_files(inbound, event))
        self._seen.append(inbound.message_id)

    async def _obey(self, envelope: Envelope, deliver: Deliver) -> None:
        command = _read(envelope.payload, Command)
        if command is None:
            return
        inbound = commanded(command, envelope.envelope_id, self._clock.wall_s())
        if inbound is not None and not (inbound.is_group and self._ears.groups == "off"):
            await deliver(inbound)


async def identify(api: SlackApi) -> str:
    """Who the app is, in a sentence; nothing is received or sent.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    from agent.printable import printable_line  # noqa: PLC0415 - who listens needs it not

    me = await api.call("auth.test", {})
    # The other token: an address that nobody connects to is forgotten there
    await api.socket_url()
    name, user, team = (
        printable_line(str(me.get(key) or ""), 64) for key in ("user", "user_id", "team")
    )
    return f"@{name} (id {user}) is in {team}, and Socket Mode is on"


def _check(envelope: Envelope) -> None:
    _log.info("Slack ends a connection: %s", envelope.reason)
    if envelope.reason == "link_disabled":
        raise ChannelRefused(
            "Socket Mode is off for this app: switch it on at https://api.slack.com/apps, on the "
            "page Socket Mode"
        )


def _read(message: str | bytes | msgspec.Raw, kind: type[Kind]) -> Kind | None:
    """None of what is not as documented; its words stay out of the log, they are a person's."""
    try:
        return msgspec.json.decode(message, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _log.warning("Slack said something that is not as documented (%s)", kind.__name__)
        return None
