"""Speaking to the owner first, and beginning a turn that nobody has asked for.

What is told is kept until the owner has it: over restarts, and while no channel leads to them.
"""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agent.clock import Clock
from agent.messages import Inbound, Provenance

_log = logging.getLogger(__name__)

# Takes a text for the owner; returns when it is kept
Tell = Callable[[str], Awaitable[None]]


class Owner(Protocol):
    """Where what happens by itself goes."""

    async def tell(self, text: str) -> None: ...

    async def begin(self, subject: str, text: str) -> None:
        """A turn on what a sensor said; what it wants to do still asks the owner."""


@dataclass(frozen=True, slots=True)
class ChannelOwner:
    """The owner on one channel.

    Args:
        announce: keeps a text for the owner and sends it.
        deliver: takes a message as if it had come from the channel.
    """

    channel: str
    person: str
    target: str
    clock: Clock
    announce: Tell
    deliver: Callable[[Inbound], Awaitable[None]]

    async def tell(self, text: str) -> None:
        await self.announce(text)

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
                strand=f"watch-{subject}",
            )
        )


@dataclass(frozen=True, slots=True)
class AbsentOwner:
    """The owner while no channel leads to them: told when one does, with the time it happened."""

    clock: Clock
    announce: Tell

    async def tell(self, text: str) -> None:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.clock.wall_s()))
        await self.announce(f"{at}: {text}")
        _log.warning("kept for the owner: %s", text)

    async def begin(self, subject: str, text: str) -> None:
        await self.tell(f"{subject}: nobody was here, so I did not do this: {text}")
