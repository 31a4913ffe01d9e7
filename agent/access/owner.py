"""Speaking to the owner first, and beginning a turn that nobody has asked for.

What is told is kept until the owner has it: over restarts, and while no channel leads to them.
"""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from agent.access.owner_contact import OwnerContact
from agent.access.people import OWNER_ID
from agent.messages import Address, Attachment, Inbound
from agent.passage import Passage, Provenance
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Takes a text for the owner; returns when it is kept
Tell = Callable[[str], Awaitable[None]]


class Owner(Protocol):
    """Receiver of reports and turns that nobody asked for."""

    async def tell(self, text: str) -> None: ...

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        """Tell with files; where none can go, `line` is what they show."""

    async def begin(self, subject: str, words: Passage) -> None:
        """A turn on what a sensor said; what it wants to do still asks the owner."""


class Announce(Protocol):
    """Keeps a text for somebody and sends it."""

    async def __call__(self, to: Address, text: str, files: Sequence[Attachment] = ()) -> None: ...


def takes_none(_channel: str) -> bool:
    """Return false: of a channel about which nothing is known."""
    return False


class ReachedOwner(Struct, frozen=True):
    """The owner wherever they are: told there, or when they come by, with the time it happened.

    Args:
        begin_turn: takes a message as if it had come from the owner's channel.
        takes_files: says if a channel does.
    """

    whereabouts: OwnerContact
    clock: Clock
    announce: Announce
    begin_turn: Callable[[Inbound], Awaitable[None]]
    takes_files: Callable[[str], bool] = takes_none

    async def tell(self, text: str) -> None:
        if places := self.whereabouts.places:
            await self.announce(places[0], text)
            return
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.clock.wall_s()))
        await self.announce(self.whereabouts.waiting_place, f"{at}: {text}")
        _log.warning("owner: not reachable, message stored (text=%s)", text)

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        places = self.whereabouts.places
        if files and places and self.takes_files(places[0].channel):
            await self.announce(places[0], text, files)
        else:
            await self.tell(f"{text}\n{line}".strip())

    async def begin(self, subject: str, words: Passage) -> None:
        if not (places := self.whereabouts.places):
            await self.tell(f"{subject}: I could not reach you, so I did not do this: {words.text}")
            return
        await self.begin_turn(
            Inbound(
                message_id=uuid.uuid4().hex,
                channel=places[0].channel,
                sender=places[0].person,
                reply_target=places[0].target,
                text=words.text,
                received_at_s=self.clock.wall_s(),
                provenance=min(words.provenance, Provenance.SENSOR),
                # A conversation of its own: the owner's plain words stay the owner's
                strand=f"watch-{subject}",
                person=OWNER_ID,
            )
        )
