"""Speaking to the owner first, and beginning a turn that nobody has asked for."""

import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agent.clock import Clock
from agent.messages import Inbound, Outbound, Provenance

_log = logging.getLogger(__name__)


class Owner(Protocol):
    """Where what happens by itself goes."""

    async def tell(self, text: str) -> None: ...

    async def begin(self, subject: str, text: str) -> None:
        """A turn on what a sensor said; what it wants to do still asks the owner."""


@dataclass(frozen=True, slots=True)
class ChannelOwner:
    """The owner on one channel.

    Args:
        send: one try to hand over a message.
        deliver: takes a message as if it had come from the channel.
    """

    channel: str
    person: str
    target: str
    clock: Clock
    send: Callable[[Outbound], Awaitable[bool]]
    deliver: Callable[[Inbound], Awaitable[None]]

    async def tell(self, text: str) -> None:
        await self.send(Outbound(0, self.channel, self.target, text, ""))

    async def begin(self, subject: str, text: str) -> None:
        await self.deliver(
            Inbound(
                message_id=uuid.uuid4().hex,
                channel=self.channel,
                sender=self.person,
                reply_target=self.target,
                text=text,
                received_at_s=self.clock.wall_s(),
                provenance=Provenance.SENSOR,
                # A conversation of its own: the owner's plain words stay the owner's
                thread=f"watch-{subject}",
            )
        )


class UnreachableOwner:
    """No channel leads to the owner; what was to be said stands in the log."""

    async def tell(self, text: str) -> None:
        _log.warning("nobody to tell: %s", text)

    async def begin(self, subject: str, text: str) -> None:
        _log.warning("nobody to answer to, so nothing was done about %s: %s", subject, text)
