"""Receiver of Signal events; the stream resumes after a cut.

Every byte is a sign of life. A stream without one is given up, and whoever looks after the channel
listens again; the daemon keeps what arrives meanwhile, or the inbox knows it already.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator

from msgspec import Struct

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.incoming_files import unfetched
from agent.channels.received_files import Knows
from agent.channels.settings import SignalSettings
from agent.channels.signal.accounts import find_account
from agent.channels.signal.client import SILENCE_LIMIT_S, SignalClient
from agent.channels.signal.cursor import SignalCursor
from agent.channels.signal.events import SignalEvent, read_arrival
from agent.channels.signal.files import SignalFiles, in_words
from agent.channels.signal.inbound import (
    SignalInbound,
    SignalSelf,
    sender_in_words,
    understood,
)
from agent.channels.signal.send import SignalSender
from agent.channels.urgency import is_urgent
from agent.errors import BarnacleError, ChannelUnavailable, NetworkError
from agent.messages import Inbound
from agent.net.sse import SseDecoder, SseEvent
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# A text of 64 KB with a hundred files beside it; previews and contacts are small
MAX_EVENT_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200
# What is on its way over a socket of this machine
REST_TIMEOUT_S = 0.5
# Events that wait for room on the disk
MAX_UNTAKEN = 200
# What is not understood the third time never will be
MAX_TRIES = 3


class _Arrival(Struct):
    """Event that has come and is not taken yet; what could not wait `went_ahead` of its turn."""

    event: SseEvent
    went_ahead: bool = False


class SignalReceiverParts(Struct, frozen=True):
    """Parts that an event passes on its way in.

    Args:
        knows: whose files are fetched; others' are not.
    """

    questions: OpenApprovals
    fetching: SignalFiles
    sending: SignalSender
    knows: Knows
    settings: SignalSettings


class SignalReceiver:
    """Receiver of one account."""

    def __init__(
        self,
        daemon: SignalClient,
        ears: SignalReceiverParts,
        position: SignalCursor,
        pulse: Pulse,
        clock: Clock,
    ) -> None:
        self._daemon = daemon
        self._ears = ears
        self._position = position
        self._pulse = pulse
        self._clock = clock
        self._me = SignalSelf(daemon.account)
        # What has come and was not kept yet: the daemon tells everything once
        self._untaken: deque[_Arrival] = deque()
        self._came, self._has_room = asyncio.Event(), asyncio.Event()
        self._tries = 0

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the daemon is not there, fell silent, or does not know the account.
        """
        await self._daemon.check()
        self._pulse.beat()
        await self._introduce()
        await self._take_all(deliver)
        # In a task of its own, so that what cannot wait is seen while something else is taken
        reading = asyncio.create_task(self._read())
        reading.add_done_callback(lambda _: self._came.set())
        try:
            await self._take_what_comes(reading, deliver)
        finally:
            if self._untaken and not reading.done():
                # What the daemon has sent, before the stream is closed
                await asyncio.wait([reading], timeout=REST_TIMEOUT_S)
            reading.cancel()
            await asyncio.wait([reading])

    async def _read(self) -> None:
        """Read events until the stream ends; beyond a limit they wait in it."""
        async with contextlib.aclosing(self._events()) as pieces:
            async for events in pieces:
                self._untaken.extend(map(_Arrival, events))
                self._came.set()
                while len(self._untaken) > MAX_UNTAKEN:
                    self._has_room.clear()
                    await self._has_room.wait()

    async def _take_what_comes(self, reading: "asyncio.Task[None]", deliver: Deliver) -> None:
        while True:
            self._came.clear()
            await self._take_all(deliver)
            if reading.done():
                reading.result()
            await self._came.wait()

    async def _take_all(self, deliver: Deliver) -> None:
        while self._untaken:
            event, went_ahead = self._untaken[0].event, self._untaken[0].went_ahead
            arrival = read_arrival(event.data) if self._may_try() and not went_ahead else None
            if arrival is not None:
                try:
                    await self._take(arrival, deliver)
                except BarnacleError:
                    # No room, for one: that is not the message's fault
                    self._tries = 0
                    raise
            self._untaken.popleft()
            self._has_room.set()
            self._tries = 0
            await self._position.advance(event.event_id)
            self._pulse.beat()

    def _may_try(self) -> bool:
        """Return true if a message that failed before is tried again."""
        self._tries += 1
        if self._tries > MAX_TRIES:
            _log.error("signal: message given up (tries=%d)", MAX_TRIES)
        return self._tries <= MAX_TRIES

    async def _introduce(self) -> None:
        account = await find_account(self._daemon, self._ears.settings.account)
        self._me.learn(*account.names)
        self._daemon.learn_account(account.name)
        await self._position.load(account.name)
        _log.info("signal: listening (account=%s)", account.name or "the daemon's only account")

    async def _events(self) -> AsyncGenerator[list[SseEvent], None]:
        parser = SseDecoder(MAX_EVENT_BYTES)
        try:
            async with self._daemon.events(self._position.after) as answer:
                while piece := await answer.read(SILENCE_LIMIT_S):
                    if not self._untaken:
                        # A daemon that lives is no sign that its messages are taken
                        self._pulse.beat()
                    yield parser.feed(piece)
        except NetworkError as err:
            raise ChannelUnavailable(f"signal-cli: {err}") from err
        raise ChannelUnavailable(
            "signal-cli ended the stream of messages: is the daemon still running?"
        )

    async def _take(self, arrival: SignalEvent, deliver: Deliver) -> None:
        if arrival.exception is not None:
            self._tell_unreadable(arrival)
            return
        heard = self._understood(arrival)
        if heard is not None and not self._answers(heard) and self._is_for_us(heard):
            self._ears.sending.hear(heard.inbound)
            await deliver(await self._with_files(heard, deliver))

    def _understood(self, arrival: SignalEvent) -> SignalInbound | None:
        is_note_heard = self._ears.settings.note_to_self
        return understood(arrival, self._me, self._clock.wall_s(), note_to_self=is_note_heard)

    def _answers(self, heard: SignalInbound) -> bool:
        """Take an answer to a question; in a group it needs no name: it has the question's id."""
        return self._ears.questions.answer(heard.inbound, has_files=bool(heard.files))

    def _is_for_us(self, heard: SignalInbound) -> bool:
        return heard.is_for_us(self._ears.settings.groups)

    async def _with_files(self, heard: SignalInbound, deliver: Deliver) -> Inbound:
        if not heard.files:
            return heard.inbound
        if not self._ears.knows(heard.inbound):
            # A stranger fills no disk
            return unfetched(heard.inbound, map(in_words, heard.files))
        hurrying = asyncio.create_task(self._hurry(deliver))
        try:
            return await self._ears.fetching.with_files(heard.inbound, heard.files)
        finally:
            hurrying.cancel()
            await asyncio.wait([hurrying])

    async def _hurry(self, deliver: Deliver) -> None:
        """Handle what stops the agent or answers a question while a file is fetched."""
        # Behind the message that the file came with
        place = 1
        try:
            while True:
                self._came.clear()
                for waiting in tuple(self._untaken)[place:]:
                    waiting.went_ahead = await self._goes_ahead(waiting.event, deliver)
                    place += 1
                await self._came.wait()
        except BarnacleError as err:
            # It is taken in its turn
            _log.info("signal: cannot listen while a file is fetched (reason=%s)", err)

    async def _goes_ahead(self, event: SseEvent, deliver: Deliver) -> bool:
        arrival = read_arrival(event.data)
        if arrival is None or arrival.exception is not None:
            return False
        heard = self._understood(arrival)
        if heard is None or self._answers(heard):
            return heard is not None
        if not (self._is_for_us(heard) and is_urgent(heard.inbound.text)):
            return False
        self._ears.sending.hear(heard.inbound)
        await deliver(heard.inbound)
        return True

    def _tell_unreadable(self, arrival: SignalEvent) -> None:
        """Log an unreadable message; the daemon asks for it again by itself."""
        assert arrival.exception is not None
        told = arrival.exception
        reason = printable_line(told.message or told.type or "", MAX_REASON_CHARS)
        _log.warning(
            "signal: message not readable; ask the sender to repeat it (from=%s, reason=%s)",
            sender_in_words(arrival),
            reason,
        )
