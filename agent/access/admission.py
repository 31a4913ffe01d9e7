"""Admission: decides who sent a message; everything else relies on this decision.

Nobody is let in by default. Somebody is known by the platform's stable id, from our own store; no
field of a message, no name and no other person's text says who anybody is.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from agent.access.commands import NOT_ALLOWED_TEXT, command_of, may
from agent.access.pairing import STRANGER_TEXT, Pairing, is_pairing
from agent.access.people import OWNER_ID, Person
from agent.access.roles import PersonRole
from agent.messages import Inbound, Provenance, Whose
from agent.system.clock import Clock

# One polite sentence, not a conversation
TOLD_EVERY_S = 3600.0
# Whom it remembers to have told; many more strangers than that in an hour are an attack
MAX_REMEMBERED = 500
# Sentences in an hour to all of them together: nobody makes this device write to many
MAX_TOLD = 30
NOT_BY_PROGRAM_TEXT = "Nobody is paired by a program: write it in a chat of your own."


class Strangers:
    """Counts strangers and says who is told something."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_s: OrderedDict[str, float] = OrderedDict()
        self.count = 0

    def note(self, who: str) -> bool:
        """Return true if this stranger is to be told that they have no access."""
        self.count += 1
        now_s = self._clock.monotonic_s()
        told_s = self._told_s.get(who)
        if told_s is not None and now_s - told_s < TOLD_EVERY_S:
            return False
        lately = sum(now_s - at_s < TOLD_EVERY_S for at_s in self._told_s.values())
        if lately >= MAX_TOLD:
            return False
        self._told_s[who] = now_s
        self._told_s.move_to_end(who)
        if len(self._told_s) > MAX_REMEMBERED:
            self._told_s.popitem(last=False)
        return True


class Admitted(Struct, frozen=True):
    """A message as it goes on, with who wrote it and what their words are worth."""

    message: Inbound


class Rejected(Struct, frozen=True):
    """A message that goes no further; `text` is what its sender is told, empty for nothing."""

    text: str = ""


class Admission:
    """Lets people in.

    Args:
        local: the channels whose people this machine knows.
        relayed: the channels on which programs write for people.
        programs: accounts of programs on the others, by channel.
    """

    def __init__(
        self,
        pairing: Pairing,
        clock: Clock,
        local: Collection[str],
        relayed: Collection[str] = (),
        programs: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._pairing = pairing
        self._people = pairing.people
        self._local = frozenset(local)
        self._relayed = frozenset(relayed)
        self._programs = programs
        self.strangers = Strangers(clock)

    async def admit(self, message: Inbound) -> Admitted | Rejected:
        if message.channel in self._local:
            return await self._locally(message)
        # Whatever a platform, or a mistake in a channel, says of its sender
        message = replace(message, provenance=Provenance.WEB, person="")
        if not message.sender:
            # A channel's post, an administrator who does not show who they are
            return self._nobody()
        person = self._people.find(message.channel, message.sender)
        if is_pairing(message.text) and not message.is_forwarded:
            return await self._pair(message, None if person is None else person.rank)
        if message.is_group:
            return self._in_group(message, person)
        if person is None:
            return self._stranger(message)
        return _passed(message, person.person_id, self._rank(message, person))

    def stands(self, message: Inbound) -> bool:
        """Return true if the sender still has access, with at least the rights as on arrival."""
        if message.channel in self._local:
            return True
        if message.strand is not None and message.person in {"", OWNER_ID}:
            # The device's own
            return True
        if message.is_group and not self._people.listens_in(message.channel, message.reply_target):
            return False
        person = self._who(message)
        if person is None:
            return message.is_group and message.person == _member(message)
        return person.person_id == message.person and message.provenance <= person.rank.trust

    def _who(self, message: Inbound) -> Person | None:
        """Return the person of a message; a job is theirs from whichever account it was made."""
        if message.strand is None:
            return self._people.find(message.channel, message.sender)
        every = self._people.everyone()
        return next((one for one in every if one.person_id == message.person), None)

    async def _locally(self, message: Inbound) -> Admitted | Rejected:
        rank = PersonRole.of(message.provenance)
        if is_pairing(message.text):
            return Rejected(await self._pairing.obey(message, rank))
        if not may(command_of(message.text), rank):
            return Rejected(NOT_ALLOWED_TEXT)
        # Of two accounts with one name only the owner's is the owner
        is_other = message.sender == OWNER_ID and rank is not PersonRole.OWNER
        return Admitted(replace(message, person=_member(message) if is_other else message.sender))

    def _rank(self, message: Inbound, person: Person) -> PersonRole:
        """Return the role of a person there; a program may say what they have not said."""
        is_said_by_program = message.channel in self._relayed or self._is_program(message)
        return min(person.rank, PersonRole.USER) if is_said_by_program else person.rank

    def _is_program(self, message: Inbound) -> bool:
        return message.sender in self._programs.get(message.channel, ())

    async def _pair(self, message: Inbound, rank: PersonRole | None) -> Rejected:
        if message.channel in self._relayed:
            return Rejected(NOT_BY_PROGRAM_TEXT)
        most = PersonRole.USER if self._is_program(message) else PersonRole.OWNER
        rank = None if rank is None else min(rank, most)
        text = await self._pairing.obey(message, rank, most)
        return self._stranger(message) if text == STRANGER_TEXT else Rejected(text)

    def _in_group(self, message: Inbound, person: Person | None) -> Admitted | Rejected:
        """Others write here too, and read it: being let in elsewhere makes nobody an owner here."""
        if not self._people.listens_in(message.channel, message.reply_target):
            return self._nobody()
        if person is None:
            return _passed(message, _member(message), PersonRole.MEMBER)
        return _passed(message, person.person_id, min(person.rank, PersonRole.USER))

    def _stranger(self, message: Inbound) -> Rejected:
        is_told = self.strangers.note(f"{message.channel} {message.sender}")
        return Rejected(STRANGER_TEXT if is_told else "")

    def _nobody(self) -> Rejected:
        """In a group, and to whoever shows no face, nothing is said."""
        self.strangers.count += 1
        return Rejected()


def _member(message: Inbound) -> str:
    """Somebody who is nobody else to us."""
    return f"{message.channel}:{message.sender}"


def _passed(message: Inbound, person: str, rank: PersonRole) -> Admitted | Rejected:
    command = command_of(message.text)
    if message.is_forwarded:
        # Somebody else's words, in the mouth of one who was let in
        rank = PersonRole.MEMBER
    if not may(command, rank):
        return Rejected(NOT_ALLOWED_TEXT)
    # A model reads the quoted words as well; a command is typed, and nothing else of it is read.
    # Whether the agent's own words stand in the conversation is seen where that is read
    is_quoting = bool(message.quoted) and message.quoted_of is Whose.ANYBODYS
    is_strange = is_quoting or bool(message.beside)
    is_pure = command is not None or not is_strange
    trust = rank.trust if is_pure else min(rank.trust, Provenance.WEB)
    return Admitted(replace(message, person=person, provenance=trust))
