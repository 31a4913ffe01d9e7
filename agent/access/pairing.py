"""`/pair`: how somebody is let in, and how the owner lets others in; no model sees any of it.

A code counts in a private chat alone. One that is shown in a group is spent there, for nothing.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from agent.access.owner import Tell
from agent.access.pairing_codes import CODE_TTL_S, Attempts, Codes, Invitation
from agent.access.people import OWNER_ID, PairedGroup, PeopleStore, Person, PersonAccount
from agent.access.roles import ROLES, PersonRole
from agent.errors import BarnacleError
from agent.messages import Inbound
from agent.system.clock import Clock
from agent.text.typed import as_typed

_log = logging.getLogger(__name__)

# Telegram writes the bot's name after a command in a group
_PAIR = re.compile(r"/pair(?:@\w+)?(?: (?P<rest>.*))?", re.IGNORECASE)
# The sentence that the console's page tells its visitor to have the owner write
_BROWSER = re.compile(
    r"(?:let this browser in|lass(?:e)? diesen browser (?:he)?rein|deja entrar este navegador"
    r"|이 브라우저를 들여보내 줘|このブラウザを入れて|让这个浏览器进来)"
    r"\W*(?P<code>[0-9a-z-]{5,6})\W*",
    re.IGNORECASE,
)
_MINUTES = int(CODE_TTL_S // 60)

STRANGER_TEXT = (
    "You have no access to this device. If its owner gave you a code, write /pair and the code."
)
ONLY_OWNER_TEXT = "Only the owner may do that, in their private chat with me."
WRONG_TEXT = "That code is wrong, used, or expired."
PROGRAM_TEXT = (
    "Programs write under this name, so that nobody is the owner by it. The code is good for "
    "nothing now: make another one, for a user or a guest."
)
SPENT_IN_GROUP_TEXT = (
    "A code counts only in a private chat with me. Everybody here could read that one, so it is "
    "good for nothing now."
)
IN_GROUP_TEXT = (
    "From now on I answer here, to everybody. What they want done I ask my owner, in private; "
    "`/pair group off` ends it."
)
OUT_OF_GROUP_TEXT = "I no longer read this group."
HOW_TEXT = (
    "`/pair new user`, `/pair new guest NAME` or `/pair new owner` makes a code for somebody, "
    "or for another account of yours; `/pair group` in a group lets it talk to me."
)
NO_BROWSER_TEXT = "No browser waits with that code. It shows a new one when its page is opened."
BROWSER_TEXT = "The browser has access now, as you. `barnacle revoke --browser ID` ends it."


LetBrowserIn = Callable[[str], Awaitable[bool]]


def is_pairing(text: str) -> bool:
    """Return true if the text is for `Pairing`; it may hold a code and is stored nowhere."""
    return _PAIR.fullmatch(words := _words(text)) is not None or _is_browser(words)


async def no_browser(_code: str) -> bool:
    """Let no browser in: there is no console."""
    return False


async def tell_nobody(_text: str) -> None:
    """Tell nobody: no agent is running."""


class Pairing(Struct):
    """Runs `/pair`.

    Args:
        tell: the owner, of everybody who is let in.
        let_browser_in: opens the console to the browser that shows a code; true if one does.
        reserved: names by which the configuration gives something to somebody; who chooses their
            name themselves gets none of them.
        group_stops: what a group is told of a stop there, by channel.
    """

    people: PeopleStore
    codes: Codes
    attempts: Attempts
    tell: Tell = tell_nobody
    let_browser_in: LetBrowserIn = no_browser
    reserved: Collection[str] = ()
    group_stops: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(
        cls, people: PeopleStore, codes: Codes, clock: Clock, tell: Tell = tell_nobody
    ) -> "Pairing":
        return cls(people, codes, Attempts(clock), tell)

    async def obey(
        self, message: Inbound, rank: PersonRole | None, most: PersonRole = PersonRole.OWNER
    ) -> str:
        """Run the command and return the answer; it may be empty. A stranger's `rank` is None.

        Args:
            most: what its sender may become at most.
        """
        words = _words(message.text)
        if browser := _BROWSER.fullmatch(words):
            words = f"/pair browser {browser['code']}"
        found = _PAIR.fullmatch(words)
        rest = (found["rest"] or "" if found else "").strip()
        first, _, more = rest.partition(" ")
        try:
            if message.is_group:
                return await self._in_group(message, rank, rest)
            if first.lower() == "new" and rank is not None:
                return await self._invite(rank, more)
            if first.lower() == "browser" and rank is not None:
                return await self._open_to(rank, more)
            return await self._enter(message, rank, rest, most)
        except BarnacleError as err:
            return f"That did not work: {err}"

    async def first_code(self) -> str | None:
        """A code that makes an owner, where there is none."""
        if self.people.owner() is not None:
            return None
        return await asyncio.to_thread(self.codes.make, Invitation(role=PersonRole.OWNER.role))

    async def _in_group(self, message: Inbound, rank: PersonRole | None, rest: str) -> str:
        if rest.lower() in {"group", "group off"}:
            if rank is not PersonRole.OWNER:
                return ONLY_OWNER_TEXT if rank is not None else ""
            wanted = rest.lower() == "group"
            group = PairedGroup(channel=message.channel, target=message.reply_target)
            await asyncio.to_thread(self.people.listen_in, group, wanted=wanted)
            told = [IN_GROUP_TEXT, self.group_stops.get(message.channel, "")]
            return "\n\n".join(filter(None, told)) if wanted else OUT_OF_GROUP_TEXT
        spent = await self._spent(message, rest)
        return SPENT_IN_GROUP_TEXT if spent is not None else ""

    async def _invite(self, rank: PersonRole, wanted: str) -> str:
        if rank is not PersonRole.OWNER:
            return ONLY_OWNER_TEXT
        role, _, name = wanted.partition(" ")
        role = role.lower() or PersonRole.USER.role
        if role not in ROLES:
            return HOW_TEXT
        invitation = Invitation(role=role, name=name.strip())
        return shown(await asyncio.to_thread(self.codes.make, invitation), role)

    async def _open_to(self, rank: PersonRole, code: str) -> str:
        if rank is not PersonRole.OWNER:
            return ONLY_OWNER_TEXT
        return BROWSER_TEXT if await self.let_browser_in(code) else NO_BROWSER_TEXT

    async def _enter(
        self, message: Inbound, rank: PersonRole | None, rest: str, most: PersonRole
    ) -> str:
        if rank is not None:
            return _how_it_stands(rank)
        if not rest:
            return STRANGER_TEXT
        if self.attempts.wait_s(_who(message)):
            # An answer would say how long to wait
            return ""
        invitation = await self._spent(message, rest)
        if invitation is None:
            return WRONG_TEXT
        if invitation.rank > most or (most < PersonRole.OWNER and invitation.person_id == OWNER_ID):
            return PROGRAM_TEXT
        account = PersonAccount(
            channel=message.channel, sender=message.sender, target=message.reply_target
        )
        person = await asyncio.to_thread(
            self.people.let_in,
            invitation.rank,
            account,
            invitation.name or message.sender_name,
            invitation.person_id,
            () if invitation.name else self.reserved,
        )
        _log.info(
            "access: granted (person=%s, channel=%s, role=%s)",
            person.person_id,
            message.channel,
            person.role,
        )
        # The first owner is told by the welcome
        if person.rank is not PersonRole.OWNER or len(person.accounts) > 1:
            await self.tell(announced(person, message.channel))
        return _welcome(person)

    async def _spent(self, message: Inbound, code: str) -> Invitation | None:
        who = _who(message)
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
    if person.rank is PersonRole.OWNER:
        return (
            f"Another account of yours has access now, over {channel}. If that was not you: "
            "`barnacle revoke owner` at the machine, and pair anew."
        )
    # Whoever chose the name writes no Markdown to the owner with it
    name = person.name.replace("`", "'")
    return (
        f"`{name}` has access now as {person.role}, over {channel}. If that is wrong: "
        f"`barnacle revoke {person.person_id}` at the machine."
    )


def _is_browser(words: str) -> bool:
    return _BROWSER.fullmatch(words) is not None


def _words(text: str) -> str:
    return " ".join(as_typed(text).split())


def _who(message: Inbound) -> str:
    return f"{message.channel} {message.sender}"


def _how_it_stands(rank: PersonRole) -> str:
    said = f"You have access already, as {rank.role}."
    return f"{said} {HOW_TEXT}" if rank is PersonRole.OWNER else said


def _welcome(person: Person) -> str:
    if person.rank is PersonRole.OWNER:
        return (
            "You are my owner, here too. /help lists the commands; /pair new gives others access."
        )
    return (
        f"Welcome, {person.name}. You have access now, as {person.role}. /help lists the commands."
    )
