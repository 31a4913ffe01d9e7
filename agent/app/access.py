"""Composition of access: the agent's people, the door before its channels, and its owner.

What another process changes of it holds from the next message on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.access.admission import Admission, Admitted, Rejected
from agent.access.owner import ReachedOwner
from agent.access.owner_contact import OwnerContact
from agent.access.pairing import Pairing
from agent.access.pairing_codes import CODE_TTL_S, Codes
from agent.access.people import PairedGroup, PeopleStore, Person
from agent.channels.base import Channel
from agent.channels.terminal import LOCAL, OWNER, TerminalChannel
from agent.errors import BarnacleError
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.messaging.delivery import Delivery
from agent.settings import Paths
from agent.storage.worker import DatabaseWorker
from agent.system.activity import Activity
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.backup.recovery import OwnerReach, Recovery
    from agent.tools.send_message import Addressee

_log = logging.getLogger(__name__)

# Note of a restore, as agent/backup/aftermath.py keeps it
RESTORED = "restored.json"
AT_THE_MACHINE = Address(TerminalChannel.name, LOCAL, OWNER)


class AccessControl:
    """Everything about who is let in."""

    def __init__(self, paths: Paths, clock: Clock) -> None:
        self._clock = clock
        self._state_dir = paths.state_dir
        self.people = PeopleStore(paths.state_dir / "people.json", clock)
        self.codes = Codes(paths.state_dir / "codes.json", clock)
        self.pairing = Pairing.of(self.people, self.codes, clock, self.tell)
        # While the agent is at work
        self.owner: ReachedOwner | None = None

    def opened(
        self,
        channels: Mapping[str, Channel],
        activity: Activity,
        journal: DatabaseWorker | None = None,
        reserved: Collection[str] = (),
    ) -> "OpenedAccess":
        """Return the door; after a restore the journal keeps what stands before it.

        Args:
            reserved: names by which the configuration gives something to somebody.
        """
        self.pairing.reserved = reserved
        self.pairing.group_stops = {
            name: channel.abilities.group_stop for name, channel in channels.items()
        }
        local = [name for name, channel in channels.items() if channel.abilities.is_local]
        owner = OwnerContact(self.people, channels, activity, self._clock, AT_THE_MACHINE)
        relayed = [name for name, channel in channels.items() if channel.abilities.is_relayed]
        has_platforms = len(local) + len(relayed) < len(channels)
        programs = {name: channel.abilities.programs for name, channel in channels.items()}
        admission = Admission(self.pairing, self._clock, local, relayed, programs)
        recovery = None if journal is None else self._recovery(journal)
        return OpenedAccess(admission, owner, self.pairing, self._clock, has_platforms, recovery)

    def _recovery(self, journal: DatabaseWorker) -> "RecoveredAccess | None":
        """Return what stands before the door after a restore; None on all other devices."""
        if not (self._state_dir / RESTORED).exists():
            return None
        from agent.backup.recovery import open_recovery  # noqa: PLC0415 - after a restore alone

        recovery = open_recovery(self._state_dir, journal, self._clock)
        return None if recovery is None else RecoveredAccess(recovery, self.knows)

    async def tell(self, text: str) -> None:
        """The owner, while the agent is at work."""
        if self.owner is not None:
            await self.owner.tell(text)

    def knows(self, message: Inbound) -> bool:
        """Return true if the sender has access, by the platform's own id."""
        return self.people.find(message.channel, message.sender) is not None

    async def follow_group(self, channel: str, target: str, now_at: str) -> None:
        """Listen in the new place of a group that the platform itself has moved."""
        if not self.people.listens_in(channel, target):
            return
        group = PairedGroup(channel=channel, target=now_at)
        try:
            # The old one stays: what was made there answers to it
            await asyncio.to_thread(self.people.listen_in, group, wanted=True)
        except BarnacleError as err:
            text = "access: group not followed; write `/pair group` there (to=%s, error=%s)"
            _log.error(text, now_at, err)
        else:
            _log.info("access: group moved (channel=%s, from=%s, to=%s)", channel, target, now_at)

    async def account_left(self, channel: str, sender: str) -> None:
        """End the account of a person who has left it, as the platform says; tell the owner.

        Raises:
            StorageFull: nothing was changed.
        """
        person = self.people.find(channel, sender)
        if person is None:
            return
        await asyncio.to_thread(self.people.forget_account, channel, sender)
        _log.warning(
            "access: account ended, its person left it (channel=%s, who=%s)", channel, person.name
        )
        await self.tell(
            f"{person.name} has changed their {channel} account, as the platform says. The old one "
            "may be somebody else's by now, so it has no access any more. Let them in with the new "
            f"one: /pair new {person.role}"
        )

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


class RecoveredAccess(Struct):
    """Door after a restore: what was written before it is listed for the owner, and no more."""

    recovery: "Recovery"
    knows: Callable[[Inbound], bool]
    reach: "OwnerReach | None" = None

    async def holds(self, message: Inbound) -> bool:
        """Keep a message back; return true if that was done."""
        if not self.recovery.precedes(message):
            return False
        # Of strangers nothing is kept or listed
        if self.knows(message):
            await self.recovery.take(message)
        return True

    async def run(self) -> None:
        """Until cancelled."""
        if self.reach is not None:
            await self.recovery.run(self.reach)


class OwnerAnnouncements(Struct, frozen=True):
    """Sender of what the owner is told; what one of their chats refuses goes to the next."""

    owner: OwnerContact
    delivery: Delivery
    tasks: asyncio.TaskGroup

    async def __call__(self, to: Address, text: str, files: Sequence[Attachment] = ()) -> None:
        await self._announce(to, text, files, ())

    async def _announce(
        self, to: Address, text: str, files: Sequence[Attachment], refused: Sequence[Address]
    ) -> None:
        message = await self.delivery.announce(to.channel, to.target, text, files=files)
        if message is not None and self.delivery.attends(message):
            self.tasks.create_task(self._send(message, (*refused, to)))

    async def _send(self, message: Outbound, asked: Sequence[Address]) -> None:
        if await self.delivery.send(message) or not await self.delivery.is_dead(message):
            return
        # They have blocked the bot, or their account there is gone
        others = (*self.owner.places, AT_THE_MACHINE)
        if (to := next((place for place in others if place not in asked), None)) is not None:
            files = message.files if self.delivery.abilities(to.channel).takes_files else ()
            await self._announce(to, message.text, files, asked)


class OpenedAccess(Struct, frozen=True):
    """The door of an agent at work, and where its owner is.

    Args:
        recovered: stands before the door after a restore; None on all other devices.
    """

    admission: Admission
    owner: OwnerContact
    pairing: Pairing
    clock: Clock
    has_platforms: bool
    recovered: RecoveredAccess | None = None

    async def admit(self, message: Inbound) -> Admitted | Rejected:
        """Return the message if its sender has access."""
        if self.recovered is not None and await self.recovered.holds(message):
            return Rejected()
        return await self.admission.admit(message)

    def reached(
        self,
        delivery: Delivery,
        take: Callable[[Inbound], Awaitable[None]],
        tasks: asyncio.TaskGroup,
    ) -> ReachedOwner:
        """The owner, for whatever has something to say to them."""
        announce = OwnerAnnouncements(self.owner, delivery, tasks)
        if self.recovered is not None:
            self.recovered.reach = self._reach(delivery, tasks)

        def takes_files(channel: str) -> bool:
            return delivery.abilities(channel).takes_files

        return ReachedOwner(self.owner, self.clock, announce, take, takes_files)

    def _reach(self, delivery: Delivery, tasks: asyncio.TaskGroup) -> "OwnerReach":
        from agent.backup.recovery import OwnerReach  # noqa: PLC0415 - after a restore alone

        def send(message: Outbound) -> None:
            if delivery.attends(message):
                tasks.create_task(delivery.send(message))

        def place() -> Address:
            return next(iter(self.owner.places), self.owner.waiting_place)

        return OwnerReach(place, send, self.owner.confirm)

    async def run(self) -> None:
        """Greet, and recover after a restore; until cancelled then."""
        await self.greet_nobody()
        if self.recovered is not None:
            await self.recovered.run()

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
