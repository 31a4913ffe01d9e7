"""Who a message is from, decided here and nowhere else: the rest of the agent goes by what it says.

Nobody is let in by default. Somebody is known by the platform's stable id, from our own store; no
field of a message, no name and no other person's text says who anybody is.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from agent.clock import Clock
from agent.dispatch.commands import NOT_ALLOWED_TEXT, command_of, may
from agent.dispatch.pairing import STRANGER_TEXT, Pairing, is_pairing
from agent.dispatch.people import OWNER_ID, Person
from agent.dispatch.rank import Rank
from agent.dispatch.strangers import Strangers
from agent.messages import Inbound, Provenance, Whose


@dataclass(frozen=True, slots=True)
class Admitted:
    """A message as it goes on, with who wrote it and what their words are worth."""

    inbound: Inbound


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A message that goes no further; `text` is what its sender is told, empty for nothing."""

    text: str = ""


class Door:
    """Lets people in.

    Args:
        local: the channels whose people this machine knows.
    """

    def __init__(self, pairing: Pairing, clock: Clock, local: Collection[str]) -> None:
        self._pairing = pairing
        self._people = pairing.people
        self._local = frozenset(local)
        self.strangers = Strangers(clock)

    async def admit(self, inbound: Inbound) -> Admitted | TurnedAway:
        if inbound.channel in self._local:
            return await self._locally(inbound)
        # Whatever a platform, or a mistake in a channel, says of its sender
        inbound = replace(inbound, provenance=Provenance.WEB, person="")
        if not inbound.sender:
            # A channel's post, an administrator who does not show who they are
            return self._nobody()
        person = self._people.find(inbound.channel, inbound.sender)
        if is_pairing(inbound.text) and not inbound.is_forwarded:
            return await self._pair(inbound, None if person is None else person.rank)
        if inbound.is_group:
            return self._in_group(inbound, person)
        if person is None:
            return self._stranger(inbound)
        return _passed(inbound, person.person_id, person.rank)

    def stands(self, inbound: Inbound) -> bool:
        """Whether who a message was from is still let in, and may as much as when it came."""
        if inbound.channel in self._local or inbound.strand is not None:
            return True
        if inbound.is_group and not self._people.listens_in(inbound.channel, inbound.reply_target):
            return False
        person = self._people.find(inbound.channel, inbound.sender)
        if person is None:
            return inbound.is_group and inbound.person == _member(inbound)
        return person.person_id == inbound.person and inbound.provenance <= person.rank.trust

    async def _locally(self, inbound: Inbound) -> Admitted | TurnedAway:
        rank = Rank.of(inbound.provenance)
        if is_pairing(inbound.text):
            return TurnedAway(await self._pairing.obey(inbound, rank))
        if not may(command_of(inbound.text), rank):
            return TurnedAway(NOT_ALLOWED_TEXT)
        # Of two accounts with one name only the owner's is the owner
        is_other = inbound.sender == OWNER_ID and rank is not Rank.OWNER
        return Admitted(replace(inbound, person=_member(inbound) if is_other else inbound.sender))

    async def _pair(self, inbound: Inbound, rank: Rank | None) -> TurnedAway:
        text = await self._pairing.obey(inbound, rank)
        return self._stranger(inbound) if text == STRANGER_TEXT else TurnedAway(text)

    def _in_group(self, inbound: Inbound, person: Person | None) -> Admitted | TurnedAway:
        """Others write here too, and read it: being let in elsewhere makes nobody an owner here."""
        if not self._people.listens_in(inbound.channel, inbound.reply_target):
            return self._nobody()
        if person is None:
            return _passed(inbound, _member(inbound), Rank.MEMBER)
        return _passed(inbound, person.person_id, min(person.rank, Rank.USER))

    def _stranger(self, inbound: Inbound) -> TurnedAway:
        is_told = self.strangers.note(f"{inbound.channel} {inbound.sender}")
        return TurnedAway(STRANGER_TEXT if is_told else "")

    def _nobody(self) -> TurnedAway:
        """In a group, and to whoever shows no face, nothing is said."""
        self.strangers.count += 1
        return TurnedAway()


def _member(inbound: Inbound) -> str:
    """Somebody who is nobody else to us."""
    return f"{inbound.channel}:{inbound.sender}"


def _passed(inbound: Inbound, person: str, rank: Rank) -> Admitted | TurnedAway:
    command = command_of(inbound.text)
    if inbound.is_forwarded:
        # Somebody else's words, in the mouth of one who was let in
        rank = Rank.MEMBER
    if not may(command, rank):
        return TurnedAway(NOT_ALLOWED_TEXT)
    # A model reads the quoted words as well; a command is typed, and nothing else of it is read.
    # Whether the agent's own words stand in the conversation is seen where that is read
    is_strange = bool(inbound.quoted) and inbound.quoted_of is Whose.ANYBODYS
    is_pure = command is not None or not is_strange
    trust = rank.trust if is_pure else min(rank.trust, Provenance.WEB)
    return Admitted(replace(inbound, person=person, provenance=trust))
