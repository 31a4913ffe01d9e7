"""What arrives, one event after the other; the stream goes on where it was cut.

Every byte is a sign of life. A stream without one is given up, and whoever looks after the channel
listens again; the daemon keeps what arrives meanwhile, or the inbox knows it already.
"""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.keeping import Knows
from agent.channels.settings import SignalSettings
from agent.channels.signal.accounts import find_account
from agent.channels.signal.daemon import SILENCE_LIMIT_S, Daemon
from agent.channels.signal.envelope import Arrival, read_arrival
from agent.channels.signal.fetching import Fetching, in_words
from agent.channels.signal.sending import Sending
from agent.channels.signal.understanding import (
    Self,
    Understood,
    sender_in_words,
    understood,
)
from agent.clock import Clock
from agent.errors import ChannelUnavailable, NetworkError
from agent.messages import Inbound
from agent.printable import printable_line
from agent.sse import Event, SseParser

_log = logging.getLogger(__name__)

# A text of 64 KB with a hundred files beside it; previews and contacts are small
MAX_EVENT_BYTES = 1024 * 1024
MAX_REASON_CHARS = 200


@dataclass(frozen=True, slots=True)
class Ears:
    """Whom an arrival is for.

    Args:
        knows: whose files are fetched; others' are not.
    """

    questions: OpenQuestions
    fetching: Fetching
    sending: Sending
    knows: Knows
    settings: SignalSettings


class Listening:
    """Listens for one account."""

    def __init__(self, daemon: Daemon, ears: Ears, pulse: Pulse, clock: Clock) -> None:
        self._daemon = daemon
        self._ears = ears
        self._pulse = pulse
        self._clock = clock
        self._me = Self(daemon.account)
        # What the daemon numbered last, of those that were taken
        self._after = ""

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the daemon is not there, fell silent, or does not know the account.
        """
        await self._daemon.check()
        self._pulse.beat()
        await self._introduce()
        async for event in self._events():
            arrival = read_arrival(event.data)
            if arrival is not None:
                await self._take(arrival, deliver)
            self._after = event.event_id
            self._pulse.beat()

    async def _introduce(self) -> None:
        self._daemon.account = ""
        account = await find_account(self._daemon, self._ears.settings.account)
        self._me.learn(*account.names)
        self._daemon.account = account.name
        _log.info("listening to Signal as %s", account.name or "the daemon's only account")

    async def _events(self) -> AsyncIterator[Event]:
        parser = SseParser(MAX_EVENT_BYTES)
        try:
            async with self._daemon.events(self._after) as answer:
                while piece := await answer.read(SILENCE_LIMIT_S):
                    self._pulse.beat()
                    for event in parser.feed(piece):
                        yield event
        except NetworkError as err:
            raise ChannelUnavailable(f"signal-cli: {err}") from err
        raise ChannelUnavailable("signal-cli has ended the stream of messages: did it stop?")

    async def _take(self, arrival: Arrival, deliver: Deliver) -> None:
        if arrival.exception is not None:
            self._tell_unreadable(arrival)
            return
        settings = self._ears.settings
        heard = understood(
            arrival, self._me, self._clock.wall_s(), note_to_self=settings.note_to_self
        )
        # An answer to a question in a group needs no name: it has the question's id
        if heard is None or self._ears.questions.answer(heard.inbound):
            return
        if heard.is_for_us(settings.groups):
            self._ears.sending.hear(heard.inbound)
            await deliver(await self._with_files(heard))

    async def _with_files(self, heard: Understood) -> Inbound:
        if not heard.files:
            return heard.inbound
        if self._ears.knows(heard.inbound):
            return await self._ears.fetching.with_files(heard.inbound, heard.files)
        # A stranger fills no disk
        told = [heard.inbound.text]
        told += [f"[{in_words(file)} that was not fetched]" for file in heard.files]
        return replace(heard.inbound, text="\n".join(line for line in told if line))

    def _tell_unreadable(self, arrival: Arrival) -> None:
        """The daemon asks for it again by itself; what never comes has at least a line here."""
        assert arrival.exception is not None
        told = arrival.exception
        reason = printable_line(told.message or told.type or "", MAX_REASON_CHARS)
        _log.warning(
            "a message of %s on Signal cannot be read (%s): if it does not come again by itself, "
            "let them send it again",
            sender_in_words(arrival),
            reason,
        )
