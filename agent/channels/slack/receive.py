"""Receiver of Slack messages, for Socket Mode and the Events API: each once.

What stops the agent and what answers a question waits for no file.
"""

import logging
from collections import deque
from typing import TypeVar

import msgspec
from msgspec import Struct

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver
from agent.channels.slack.approvals import SlackApprovals
from agent.channels.slack.client import SlackApi
from agent.channels.slack.events import SlackCommand, SlackEvent, SlackEventCall, SlackInteraction
from agent.channels.slack.files import SlackFiles
from agent.channels.slack.inbound import Groups, commanded, is_for_us, stop_by_edit, understood
from agent.channels.urgent_first import went_ahead
from agent.errors import ChannelUnavailable
from agent.messages import Inbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

Kind = TypeVar("Kind")

# Slack repeats what was not acknowledged for some minutes
MAX_SEEN = 2000


class SlackReceiverParts(Struct, frozen=True):
    """Parts that a message passes on its way in."""

    api: SlackApi
    asking: SlackApprovals
    questions: OpenApprovals
    fetching: SlackFiles
    groups: Groups


class SlackInbound(Struct, frozen=True):
    """Message of a person to the app; an event may have files."""

    inbound: Inbound
    event: SlackEvent | None = None

    @property
    def has_files(self) -> bool:
        return self.event is not None and bool(self.event.files)


class SlackReceiver:
    """Receiver of one app."""

    def __init__(self, ears: SlackReceiverParts, clock: Clock) -> None:
        self._ears = ears
        self._clock = clock
        self._me = ""
        self._seen: deque[str] = deque(maxlen=MAX_SEEN)

    async def begin(self) -> None:
        """Ask who the app is, so that mentions of it are known.

        Raises:
            ChannelError: the platform is not reached, or does not know the app.
        """
        told = await self._ears.api.call("auth.test", {})
        self._me = str(told.get("user_id") or "")
        if not self._me:
            raise ChannelUnavailable("Slack did not say which app the token belongs to")

    def said(self, call: SlackEventCall) -> SlackInbound | None:
        """Convert an event; None if no person spoke to the app."""
        event, groups, now_s = call.event, self._ears.groups, self._clock.wall_s()
        if (stop := stop_by_edit(event, self._me, groups, now_s)) is not None:
            return SlackInbound(stop)
        if not is_for_us(event, self._me, groups):
            return None
        return SlackInbound(understood(event, self._me, now_s), event)

    def commanded(self, command: SlackCommand, number: str) -> SlackInbound | None:
        """Convert a slash command; `number` is its own on every way."""
        inbound = commanded(command, number, self._clock.wall_s())
        if inbound is None or (inbound.is_group and self._ears.groups == "off"):
            return None
        return SlackInbound(inbound)

    def press(self, pressed: SlackInteraction) -> None:
        """Handle a pressed button."""
        self._ears.asking.press(pressed)

    async def hurry(self, said: SlackInbound, deliver: Deliver) -> bool:
        """Deliver at once if no file of its own is fetched; return true if it is kept.

        Raises:
            StorageFull: it is not kept.
        """
        inbound = said.inbound
        if inbound.message_id in self._seen:
            return True
        questions, has_files = self._ears.questions, said.has_files
        if not await went_ahead(inbound, questions, deliver, has_files=has_files):
            return False
        self._seen.append(inbound.message_id)
        return True

    async def take(self, said: SlackInbound, deliver: Deliver) -> None:
        """Deliver in turn; return when the message is kept with its files.

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
    """Decode; None if it is not as documented. Its words stay out of the log."""
    try:
        return msgspec.json.decode(message, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _log.warning("slack: event skipped, not as documented (kind=%s)", kind.__name__)
        return None
