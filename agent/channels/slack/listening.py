"""Socket Mode: what people say, buttons and commands, each acknowledged when it is kept.

A connection that Slack wants to end is followed by another before it goes, so that nothing falls
between them. What was not acknowledged comes again, and is known by its number.
"""

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import dataclass

import msgspec

from agent.channels.base import Deliver, Pulse
from agent.channels.overtaking import Frame, Overtaking
from agent.channels.slack.api import SlackApi
from agent.channels.slack.events import Command, Envelope, EventCall, Interaction
from agent.channels.slack.hearing import Hearing, Said, read
from agent.channels.socket import Socket, SocketClosed, opened
from agent.clock import Clock
from agent.errors import ChannelRefused, ChannelUnavailable

_log = logging.getLogger(__name__)

# The greeting comes with the connection
HELLO_TIMEOUT_S = 10.0
# What is still under way on a connection that ends; the next one waits, and has 3 s to acknowledge
DRAIN_S = 1.0
# Connections live for hours; where this many end in a minute, whoever begins again waits longer
MOST_BEGUN, BEGUN_WITHIN_S = 4, 60.0
# What was taken ahead of its turn while a file was fetched
MAX_AHEAD = 500


@dataclass(frozen=True, slots=True)
class _Line:
    socket: Socket
    coming: Overtaking
    end: contextlib.AsyncExitStack


class Listening:
    """Hears for one app over its own connections."""

    def __init__(self, api: SlackApi, hearing: Hearing, pulse: Pulse, clock: Clock) -> None:
        self._api = api
        self._hearing = hearing
        self._pulse = pulse
        self._clock = clock
        self._ahead: deque[str] = deque(maxlen=MAX_AHEAD)

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this app listen.
        """
        await self._hearing.begin()
        begun_s = deque([self._clock.monotonic_s()], maxlen=MOST_BEGUN)
        lines = [await self._begun(deliver)]
        try:
            while True:
                await self._hear(lines[0], deliver)
                now_s = self._clock.monotonic_s()
                if len(begun_s) == MOST_BEGUN and now_s - begun_s[0] < BEGUN_WITHIN_S:
                    raise ChannelUnavailable("Slack ends every connection as soon as it is open")
                begun_s.append(now_s)
                lines.append(await self._begun(deliver))
                await self._drain(lines[0], deliver)
                await lines.pop(0).end.aclose()
        finally:
            for line in lines:
                await line.end.aclose()

    async def _begun(self, deliver: Deliver) -> _Line:
        """A connection that has greeted us."""
        url = await self._api.socket_url()
        async with contextlib.AsyncExitStack() as stack:
            socket = await stack.enter_async_context(opened(url))
            try:
                async with asyncio.timeout(HELLO_TIMEOUT_S):
                    greeting = read(await socket.receive(), Envelope)
            except TimeoutError as err:
                raise ChannelUnavailable("Slack does not greet us") from err
            if greeting is None or greeting.type != "hello":
                raise ChannelUnavailable("Slack does not greet us as documented")
            self._pulse.beat()

            async def hurry(message: Frame) -> None:
                await self._hurry(socket, message, deliver)

            coming = Overtaking(socket, self._pulse.beat, hurry)
            return _Line(socket, coming, stack.pop_all())

    async def _hear(self, line: _Line, deliver: Deliver) -> None:
        """Return when Slack wants to end this connection."""
        async with contextlib.aclosing(line.coming.messages()) as messages:
            async for message in messages:
                if not await self._take(line, message, deliver):
                    return

    async def _drain(self, line: _Line, deliver: Deliver) -> None:
        """Handle the messages that are there; the rest comes on the next connection."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + DRAIN_S
        async with contextlib.aclosing(line.coming.messages()) as messages:
            while loop.time() < until_s:
                try:
                    async with asyncio.timeout_at(until_s):
                        message = await anext(messages)
                    await self._take(line, message, deliver)
                except (TimeoutError, SocketClosed):
                    return

    async def _take(self, line: _Line, message: Frame, deliver: Deliver) -> bool:
        """Handle a message; return true if the connection goes on."""
        envelope = read(message, Envelope)
        if envelope is None:
            return True
        if envelope.type == "disconnect":
            _check(envelope)
            return False
        if envelope.envelope_id not in self._ahead:
            told = self._told(envelope)
            if isinstance(told, Interaction):
                self._hearing.press(told)
            elif told is not None:
                watched = line.coming.watched() if told.has_files else contextlib.nullcontext()
                async with watched:
                    await self._hearing.take(told, deliver)
        await _acknowledge(line.socket, envelope)
        return True

    async def _hurry(self, socket: Socket, message: Frame, deliver: Deliver) -> None:
        envelope = read(message, Envelope)
        told = self._told(envelope) if envelope is not None else None
        if envelope is None or told is None:
            return
        if isinstance(told, Interaction):
            self._hearing.press(told)
        elif not await self._hearing.hurry(told, deliver):
            return
        self._ahead.append(envelope.envelope_id)
        await _acknowledge(socket, envelope)

    def _told(self, envelope: Envelope) -> Said | Interaction | None:
        """None of what is nothing for us."""
        if envelope.type == "events_api":
            call = read(envelope.payload, EventCall)
            return self._hearing.said(call) if call is not None else None
        if envelope.type == "interactive":
            return read(envelope.payload, Interaction)
        if envelope.type == "slash_commands":
            command = read(envelope.payload, Command)
            number = envelope.envelope_id
            return self._hearing.commanded(command, number) if command is not None else None
        return None


async def _acknowledge(socket: Socket, envelope: Envelope) -> None:
    if envelope.envelope_id:
        taken = msgspec.json.encode({"envelope_id": envelope.envelope_id})
        await socket.send(taken.decode())


def _check(envelope: Envelope) -> None:
    _log.info("Slack ends a connection: %s", envelope.reason)
    if envelope.reason == "link_disabled":
        raise ChannelRefused(
            "Socket Mode is off for this app: switch it on at https://api.slack.com/apps, on the "
            "page Socket Mode"
        )
