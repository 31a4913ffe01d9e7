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
        self._untaken: deque[SseEvent] = deque()
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
        async with contextlib.aclosing(self._events()) as pieces:
            async for events in pieces:
                self._untaken.extend(events)
                is_taken = False
                try:
                    await self._take_all(deliver)
                    is_taken = True
                finally:
                    if not is_taken:
                        await self._keep_rest(pieces)

    async def _keep_rest(self, pieces: AsyncGenerator[list[SseEvent], None]) -> None:
        """Read the events that the daemon has sent, before the stream is closed."""
        with contextlib.suppress(ChannelUnavailable, TimeoutError):
            async with asyncio.timeout(REST_TIMEOUT_S):
                async for events in pieces:
                    self._untaken.extend(events)
                    if len(self._untaken) > MAX_UNTAKEN:
                        return

    async def _take_all(self, deliver: Deliver) -> None:
        while self._untaken:
            event = self._untaken[0]
            arrival = read_arrival(event.data) if self._may_try() else None
            if arrival is not None:
                try:
                    await self._take(arrival, deliver)
                except BarnacleError:
                    # No room, for one: that is not the message's fault
                    self._tries = 0
                    raise
            self._untaken.popleft()
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
        settings = self._ears.settings
        heard = understood(
            arrival, self._me, self._clock.wall_s(), note_to_self=settings.note_to_self
        )
        if heard is None:
            return
        # An answer to a question in a group needs no name: it has the question's id
        if self._ears.questions.answer(heard.inbound, has_files=bool(heard.files)):
            return
        if heard.is_for_us(settings.groups):
            self._ears.sending.hear(heard.inbound)
            await deliver(await self._with_files(heard))

    async def _with_files(self, heard: SignalInbound) -> Inbound:
        if not heard.files:
            return heard.inbound
        if self._ears.knows(heard.inbound):
            return await self._ears.fetching.with_files(heard.inbound, heard.files)
        # A stranger fills no disk
        return unfetched(heard.inbound, map(in_words, heard.files))

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
