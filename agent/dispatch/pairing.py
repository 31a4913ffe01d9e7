"""`/pair`: how somebody is let in, and how the owner lets others in; no model sees any of it.

A code counts in a private chat alone. One that is shown in a group is spent there, for nothing.
"""

import asyncio
import logging
import re
from dataclasses import dataclass

from agent.clock import Clock
from agent.dispatch.attempts import Attempts
from agent.dispatch.codes import CODE_TTL_S, Codes, Invitation
from agent.dispatch.owner import Tell
from agent.dispatch.people import OWNER_ID, Account, Group, People, Person
from agent.dispatch.rank import ROLES, Rank
from agent.errors import BarnacleError
from agent.messages import Inbound

_log = logging.getLogger(__name__)

# Telegram writes the bot's name after a command in a group
_PAIR = re.compile(r"/pair(?:@\w+)?(?: (?P<rest>.*))?", re.IGNORECASE)
_MINUTES = int(CODE_TTL_S // 60)

STRANGER_TEXT = (
    "I do not know you, so I can only say hello. If the owner of this device gave you a code, "
    "write /pair and the code."
)
ONLY_OWNER_TEXT = "Only the owner may do that, in their private chat with me."
WRONG_TEXT = "That code is none of mine, or it was used, or it is too old."
SPENT_IN_GROUP_TEXT = (
    "A code counts only in a private chat with me. Everybody here could read that one, so it is "
    "good for nothing now."
)
IN_GROUP_TEXT = (
    "From now on I answer here, to everybody. What they want done I ask my owner, in private; "
    "`/pair group off` ends it."
)
OUT_OF_GROUP_TEXT = "I listen here no more."
HOW_TEXT = (
    "`/pair new user`, `/pair new guest NAME` or `/pair new owner` makes a code for somebody, "
    "or for another account of yours; `/pair group` in a group lets it talk to me."
)


def is_pairing(text: str) -> bool:
    """Whether the text is for `Pairing`, and may be kept nowhere: there may be a code in it."""
    return _PAIR.fullmatch(_words(text)) is not None


async def tell_nobody(_text: str) -> None:
    """Where there is no agent at work."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """What `/pair` does.

    Args:
        tell: the owner, of everybody who is let in.
    """

    people: People
    codes: Codes
    attempts: Attempts
    tell: Tell = tell_nobody

    @classmethod
    def of(cls, people: People, codes: Codes, clock: Clock, tell: Tell = tell_nobody) -> "Pairing":
        return cls(people, codes, Attempts(clock), tell)

    async def obey(self, inbound: Inbound, rank: Rank | None) -> str:
        """What is answered, which may be nothing; `rank` is None for whom nobody let in."""
        found = _PAIR.fullmatch(_words(inbound.text))
        rest = (found["rest"] or "" if found else "").strip()
        first, _, more = rest.partition(" ")
        try:
            if inbound.is_group:
                return await self._in_group(inbound, rank, rest)
            if first.lower() == "new" and rank is not None:
                return await self._invite(rank, more)
            return await self._enter(inbound, rank, rest)
        except BarnacleError as err:
            return f"That did not work: {err}"

    async def first_code(self) -> str | None:
        """A code that makes an owner, where there is none."""
        if self.people.owner() is not None:
            return None
        return await asyncio.to_thread(self.codes.make, Invitation(role=Rank.OWNER.role))

    async def _in_group(self, inbound: Inbound, rank: Rank | None, rest: str) -> str:
        if rest.lower() in {"group", "group off"}:
            if rank is not Rank.OWNER:
                return ONLY_OWNER_TEXT if rank is not None else ""
            wanted = rest.lower() == "group"
            group = Group(channel=inbound.channel, target=inbound.reply_target)
            await asyncio.to_thread(self.people.listen_in, group, wanted=wanted)
            return IN_GROUP_TEXT if wanted else OUT_OF_GROUP_TEXT
        spent = await self._spent(inbound, rest)
        return SPENT_IN_GROUP_TEXT if spent is not None else ""

    async def _invite(self, rank: Rank, wanted: str) -> str:
        if rank is not Rank.OWNER:
            return ONLY_OWNER_TEXT
        role, _, name = wanted.partition(" ")
        role = role.lower() or Rank.USER.role
        if role not in ROLES:
            return HOW_TEXT
        invitation = Invitation(role=role, name=name.strip())
        return shown(await asyncio.to_thread(self.codes.make, invitation), role)

    async def _enter(self, inbound: Inbound, rank: Rank | None, rest: str) -> str:
        if rank is not None:
            return _how_it_stands(rank)
        if not rest:
            return STRANGER_TEXT
        if self.attempts.wait_s(_who(inbound)):
            # An answer would say how long to wait
            return ""
        invitation = await self._spent(inbound, rest)
        if invitation is None:
            return WRONG_TEXT
        account = Account(
            channel=inbound.channel, sender=inbound.sender, target=inbound.reply_target
        )
        person = await asyncio.to_thread(
            self.people.let_in,
            invitation.rank,
            account,
            invitation.name or inbound.sender_name,
            invitation.person_id,
        )
        _log.info("%s was let in on %s as %s", person.person_id, inbound.channel, person.role)
        # The first owner is told by the welcome
        if person.rank is not Rank.OWNER or len(person.accounts) > 1:
            await self.tell(announced(person, inbound.channel))
        return _welcome(person)

    async def _spent(self, inbound: Inbound, code: str) -> Invitation | None:
        who = _who(inbound)
        if not code or self.attempts.wait_s(who):
            return None
        # Counted before it is looked at: many at once are no more than that many tries
        self.attempts.note_wrong(who)
        invitation = await asyncio.to_thread(self.codes.spend, code)
        if invitation is not None:
            self.attempts.forget(who)
        return invitation


def shown(code: str, role: str) -> str:
    """A new code, for whoever passes it on."""
    what = "another account of yours" if role == OWNER_ID else f"a new {role}"
    return f"For {what}: write `/pair {code}` to me in a private chat, within {_MINUTES} minutes."


def announced(person: Person, channel: str) -> str:
    """Somebody has used a code, for the owner, who may have given it to somebody else."""
    if person.rank is Rank.OWNER:
        return (
            f"Another account of yours was let in, over {channel}. If that was not you: "
            "`barnacle revoke owner` at the machine, and pair anew."
        )
    # Whoever chose the name writes no Markdown to the owner with it
    name = person.name.replace("`", "'")
    return (
        f"`{name}` was let in as {person.role}, over {channel}. If that is wrong: "
        f"`barnacle revoke {person.person_id}` at the machine."
    )


def _words(text: str) -> str:
    return " ".join(text.split())


def _who(inbound: Inbound) -> str:
    return f"{inbound.channel} {inbound.sender}"


def _how_it_stands(rank: Rank) -> str:
    said = f"You are let in, as {rank.role}."
    return f"{said} {HOW_TEXT}" if rank is Rank.OWNER else said


def _welcome(person: Person) -> str:
    if person.rank is Rank.OWNER:
        return (
            "You are my owner, here too. /help lists what you can type; /pair new lets others in."
        )
    return (
        f"Welcome, {person.name}: you are let in, as {person.role}. /help lists what you can type."
    )
