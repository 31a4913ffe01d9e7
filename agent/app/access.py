"""Composition of access: the agent's people, the door before its channels, and its owner.

What another process changes of it holds from the next message on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.access.admission import Admission
from agent.access.owner import ReachedOwner
from agent.access.owner_contact import OwnerContact
from agent.access.pairing import Pairing
from agent.access.pairing_codes import CODE_TTL_S, Codes
from agent.access.people import PeopleStore, Person
from agent.channels.base import Channel
from agent.channels.terminal import LOCAL, OWNER, TerminalChannel
from agent.messages import Address, Attachment, Inbound
from agent.messaging.delivery import Delivery
from agent.settings import Paths
from agent.system.activity import Activity
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.tools.send_message import Addressee

_log = logging.getLogger(__name__)

AT_THE_MACHINE = Address(TerminalChannel.name, LOCAL, OWNER)


class AccessControl:
    """Everything about who is let in."""

    def __init__(self, paths: Paths, clock: Clock) -> None:
        self._clock = clock
        self.people = PeopleStore(paths.state_dir / "people.json", clock)
        self.codes = Codes(paths.state_dir / "codes.json", clock)
        self.pairing = Pairing.of(self.people, self.codes, clock, self.tell)
        # While the agent is at work
        self.owner: ReachedOwner | None = None

    def opened(self, channels: Mapping[str, Channel], activity: Activity) -> "OpenedAccess":
        local = [name for name, channel in channels.items() if channel.abilities.is_local]
        owner = OwnerContact(self.people, channels, activity, self._clock, AT_THE_MACHINE)
        relayed = [name for name, channel in channels.items() if channel.abilities.is_relayed]
        has_platforms = len(local) + len(relayed) < len(channels)
        admission = Admission(self.pairing, self._clock, local, relayed)
        return OpenedAccess(admission, owner, self.pairing, self._clock, has_platforms)

    async def tell(self, text: str) -> None:
        """The owner, while the agent is at work."""
        if self.owner is not None:
            await self.owner.tell(text)

    def knows(self, message: Inbound) -> bool:
        """Return true if the sender has access, by the platform's own id."""
        return self.people.find(message.channel, message.sender) is not None

    def everyone(self) -> "Sequence[Addressee]":
        """Return the people that a tool may write to; the owner at the machine if without another.

        Of two accounts the one that was paired first has the plain name.
        """
        from agent.tools.send_message import Addressee  # noqa: PLC0415 - only where it is written

        at_the_machine = Addressee(OWNER, TerminalChannel.name, LOCAL)
        named = [
            Addressee(_name(person, number), account.channel, account.target)
            for person in self.people.everyone()
            for number, account in enumerate(person.accounts)
            # A token of the gateway is an account that leads to nobody, and a browser one that ends
            if account.target and not account.is_browser
        ]
        is_paired = self.people.owner() is not None
        return named if is_paired else (at_the_machine, *named)


@dataclass(frozen=True, slots=True)
class OpenedAccess:
    """The door of an agent at work, and where its owner is."""

    admission: Admission
    owner: OwnerContact
    pairing: Pairing
    clock: Clock
    has_platforms: bool

    def reached(
        self,
        delivery: Delivery,
        take: Callable[[Inbound], Awaitable[None]],
        tasks: asyncio.TaskGroup,
    ) -> ReachedOwner:
        """The owner, for whatever has something to say to them."""

        async def announce(to: Address, text: str, files: Sequence[Attachment] = ()) -> None:
            message = await delivery.announce(to.channel, to.target, text, files=files)
            if message is not None and delivery.attends(message):
                tasks.create_task(delivery.send(message))

        return ReachedOwner(self.owner, self.clock, announce, take, delivery.takes_files)

    async def greet_nobody(self) -> None:
        """Log how to become the owner, on platforms without one."""
        if self.has_platforms and (code := await self.pairing.first_code()) is not None:
            _log.warning(
                "access: no owner yet. Send `/pair %s` to the bot in a private chat within "
                "%.0f minutes to become the owner; `barnacle pair` makes another code",
                code,
                CODE_TTL_S / 60,
            )


def _name(person: Person, number: int) -> str:
    return f"{person.name} ({person.accounts[number].channel})" if number else person.name
