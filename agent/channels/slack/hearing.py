"""Messages to the app, whichever way Slack brings them: each once, with its files.

What stops the agent and what answers a question waits for no file.
"""

import logging
from collections import deque
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver
from agent.channels.slack.api import SlackApi
from agent.channels.slack.asking import Asking
from agent.channels.slack.events import Command, Event, EventCall, Interaction
from agent.channels.slack.fetching import Fetching
from agent.channels.slack.understanding import Groups, commanded, is_for_us, understood
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import ChannelUnavailable
from agent.messages import Inbound

_log = logging.getLogger(__name__)

Kind = TypeVar("Kind")

# Slack repeats what was not acknowledged for some minutes
MAX_SEEN = 2000


@dataclass(frozen=True, slots=True)
class Ears:
    """Parts that a message passes on its way in."""

    api: SlackApi
    asking: Asking
    questions: OpenQuestions
    fetching: Fetching
    groups: Groups


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a person said to the app; an event may have files."""

    inbound: Inbound
    event: Event | None = None

    @property
    def has_files(self) -> bool:
        return self.event is not None and bool(self.event.files)


class Hearing:
    """Hears for one app."""

    def __init__(self, ears: Ears, clock: Clock) -> None:
        self._ears = ears
        self._clock = clock
        self._me = ""
        self._seen: deque[str] = deque(maxlen=MAX_SEEN)

    async def begin(self) -> None:
        """Ask who the app is: what calls it is known by that.

        Raises:
            ChannelError: the platform is not reached, or does not know the app.
        """
        told = await self._ears.api.call("auth.test", {})
        self._me = str(told.get("user_id") or "")
        if not self._me:
            raise ChannelUnavailable("Slack does not say who the app is")

    def said(self, call: EventCall) -> Said | None:
        """None where it was not said to the app, or by no person."""
        if not is_for_us(call.event, self._me, self._ears.groups):
            return None
        return Said(understood(call.event, self._me, self._clock.wall_s()), call.event)

    def commanded(self, command: Command, number: str) -> Said | None:
        """The same of a slash command; `number` is its own, in whatever way it came."""
        inbound = commanded(command, number, self._clock.wall_s())
        if inbound is None or (inbound.is_group and self._ears.groups == "off"):
            return None
        return Said(inbound)

    def press(self, pressed: Interaction) -> None:
        """Take a button for what it is worth."""
        self._ears.asking.press(pressed)

    async def hurry(self, said: Said, deliver: Deliver) -> bool:
        """Deliver at once if no file of its own is fetched; return true if it is kept.

        Raises:
            StorageFull: it is not kept.
        """
        inbound = said.inbound
        if inbound.message_id in self._seen:
            return True
        if not self._ears.questions.answer(inbound):
            if not is_urgent(inbound.text):
                return False
            await deliver(inbound)
        self._seen.append(inbound.message_id)
        return True

    async def take(self, said: Said, deliver: Deliver) -> None:
        """In its turn; return when it is kept with its files.

        Raises:
            StorageFull: it is not kept.
        """
        if await self.hurry(said, deliver):
            return
        inbound = said.inbound
        if said.event is not None:
            inbound = await self._ears.fetching.with_files(inbound, said.event)
        await deliver(inbound)
        self._seen.append(inbound.message_id)


def read(message: str | bytes | msgspec.Raw, kind: type[Kind]) -> Kind | None:
    """None of what is not as documented; its words stay out of the log, they are a person's."""
    try:
        return msgspec.json.decode(message, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _log.warning("Slack said something that is not as documented (%s)", kind.__name__)
        return None
