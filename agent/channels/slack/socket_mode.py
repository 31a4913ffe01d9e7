"""Slack channel by Socket Mode."""

import asyncio
import contextlib
import logging
from collections import deque

import msgspec
from msgspec import Struct

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import SlackSettings
from agent.channels.slack import markup
from agent.channels.slack.approvals import SlackApprovals
from agent.channels.slack.client import SlackApi, SlackRefused
from agent.channels.slack.events import (
    SlackCommand,
    SlackEnvelope,
    SlackEventCall,
    SlackInteraction,
)
from agent.channels.slack.files import SlackFiles
from agent.channels.slack.inbound import NAME, place_of
from agent.channels.slack.posts import SlackAnswerPoster
from agent.channels.slack.receive import SlackInbound, SlackReceiver, SlackReceiverParts, read
from agent.channels.slack.send import SlackDrafts, SlackSender
from agent.channels.urgent_first import Frame, UrgentFirst
from agent.channels.websocket import SocketClosed, WebSocket, opened
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock

# The greeting comes with the connection
HELLO_TIMEOUT_S = 10.0
# What is still under way on a connection that ends; the next one waits, and has 3 s to acknowledge
DRAIN_S = 1.0
# Connections live for hours; where this many end in a minute, whoever begins again waits longer
MOST_BEGUN, BEGUN_WITHIN_S = 4, 60.0
# What was taken ahead of its turn while a file was fetched
MAX_AHEAD = 500


class _Line(Struct, frozen=True):
    socket: WebSocket
    coming: UrgentFirst[Frame]
    end: contextlib.AsyncExitStack


class SocketModeReceiver:
    """Receiver of one app over its own connections."""

    def __init__(self, api: SlackApi, hearing: SlackReceiver, pulse: Pulse, clock: Clock) -> None:
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
                    raise ChannelUnavailable("Slack closes every connection as soon as it is open")
                begun_s.append(now_s)
                lines.append(await self._begun(deliver))
                await self._drain(lines[0], deliver)
                await lines.pop(0).end.aclose()
        finally:
            for line in lines:
                await line.end.aclose()

    async def _begun(self, deliver: Deliver) -> _Line:
        """Open a connection and wait for its hello."""
        url = await self._api.socket_url()
        async with contextlib.AsyncExitStack() as stack:
            socket = await stack.enter_async_context(opened(url))
            try:
                async with asyncio.timeout(HELLO_TIMEOUT_S):
                    greeting = read(await socket.receive(), SlackEnvelope)
            except TimeoutError as err:
                raise ChannelUnavailable("Slack sent no hello") from err
            if greeting is None or greeting.type != "hello":
                raise ChannelUnavailable("Slack sent an unknown hello")
            self._pulse.beat()

            async def hurry(message: Frame) -> None:
                await self._hurry(socket, message, deliver)

            coming = UrgentFirst(socket, self._pulse.beat, hurry)
            return _Line(socket, coming, stack.pop_all())

    async def _hear(self, line: _Line, deliver: Deliver) -> None:
        """Receive until Slack wants to close this connection."""
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
        envelope = read(message, SlackEnvelope)
        if envelope is None:
            return True
        if envelope.type == "disconnect":
            _check(envelope)
            return False
        if envelope.envelope_id not in self._ahead:
            told = self._told(envelope)
            if isinstance(told, SlackInteraction):
                self._hearing.press(told)
            elif told is not None:
                watched = line.coming.watched() if told.has_files else contextlib.nullcontext()
                async with watched:
                    await self._hearing.take(told, deliver)
        await _acknowledge(line.socket, envelope)
        return True

    async def _hurry(self, socket: WebSocket, message: Frame, deliver: Deliver) -> None:
        envelope = read(message, SlackEnvelope)
        told = self._told(envelope) if envelope is not None else None
        if envelope is None or told is None:
            return
        if isinstance(told, SlackInteraction):
            self._hearing.press(told)
        elif not await self._hearing.hurry(told, deliver):
            return
        self._ahead.append(envelope.envelope_id)
        await _acknowledge(socket, envelope)

    def _told(self, envelope: SlackEnvelope) -> SlackInbound | SlackInteraction | None:
        """Convert the content of an envelope; None if it is not for us."""
        if envelope.type == "events_api":
            call = read(envelope.payload, SlackEventCall)
            return self._hearing.said(call) if call is not None else None
        if envelope.type == "interactive":
            return read(envelope.payload, SlackInteraction)
        if envelope.type == "slash_commands":
            command = read(envelope.payload, SlackCommand)
            number = envelope.envelope_id
            return self._hearing.commanded(command, number) if command is not None else None
        return None


async def _acknowledge(socket: WebSocket, envelope: SlackEnvelope) -> None:
    if envelope.envelope_id:
        taken = msgspec.json.encode({"envelope_id": envelope.envelope_id})
        await socket.send(taken.decode())


def _check(envelope: SlackEnvelope) -> None:
    _log.info("slack: connection closed by the server (reason=%s)", envelope.reason)
    if envelope.reason == "link_disabled":
        raise ChannelRefused(
            "Socket Mode is off for this app: switch it on at https://api.slack.com/apps, "
            "page Socket Mode"
        )


_log = logging.getLogger(__name__)

HINT = "Your answer is shown in Slack: short paragraphs, Markdown, no tables."
_SIGNS = {Mark.SEEN: "eyes", Mark.DONE: "white_check_mark", Mark.FAILED: "warning"}
# It stands already, or is gone already
_AS_WISHED = frozenset({"already_reacted", "no_reaction"})


class SlackChannel(Channel):
    """Channel of one app in one workspace; Slack shows nobody that it is typing.

    Args:
        api: with the app's tokens.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self, api: SlackApi, settings: SlackSettings, place: ChannelContext, clock: Clock
    ) -> None:
        pulse = Pulse(clock)
        self.pulse: Pulse | None = pulse
        self._api = api
        posting = SlackAnswerPoster(api, clock)
        self._drafts = SlackDrafts(api, posting, place.folder, clock)
        self._sending = SlackSender(api, self._drafts, posting)
        questions = OpenApprovals()
        self._asking = SlackApprovals(api, questions)
        fetching = SlackFiles(api, place, pulse.beat)
        ears = SlackReceiverParts(api, self._asking, questions, fetching, settings.groups)
        self._hearing = SlackReceiver(ears, clock)
        self._listening = SocketModeReceiver(api, self._hearing, pulse, clock)

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        place = place_of(inbound.message_id)
        if place is None:
            return
        where = {"channel": place[0], "timestamp": place[1]}
        await self._courtesy("reactions.add", {**where, "name": _SIGNS[mark]})
        if mark is not Mark.SEEN:
            await self._courtesy("reactions.remove", {**where, "name": _SIGNS[Mark.SEEN]})

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, method: str, body: dict[str, object]) -> None:
        """Do something optional; an answer never waits for it."""
        try:
            await self._api.call(method, body)
        except SlackRefused as err:
            if err.code not in _AS_WISHED:
                _log.info("slack: request failed (reason=%s)", err)
        except ChannelError as err:
            _log.info("slack: request failed (reason=%s)", err)
