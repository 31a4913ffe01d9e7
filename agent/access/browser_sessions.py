"""Browsers that are let in: at the door with a code on their screen, then as accounts of people.

A cookie is kept as its hash alone. The cookie of the door is never the one of the session: whoever
planted the first has nothing of the second.
"""

import asyncio
import hashlib
import logging
import secrets
from collections import OrderedDict

from msgspec import Struct

from agent.access.door_button import DoorButton, DoorPress
from agent.access.pairing import Pairing, announced
from agent.access.pairing_codes import Attempts
from agent.access.people import BROWSERS, OWNER_ID, Person, PersonAccount
from agent.access.roles import PersonRole
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Long enough to find the telephone and write a line
KNOCK_TTL_S = 10 * 60.0
# Browsers that wait, and those of one address: nobody crowds out a person who has just come
MAX_KNOCKS = 20
MAX_KNOCKS_OF_ONE = 4
# Typed by the owner alone, within minutes: 25 bits are enough
_CODE_CHARS = 5
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
# More than anybody guesses, ever
_TOKEN_BYTES = 32
# Longer ones are none of ours
MAX_TOKEN_CHARS = 64
# A wrong code makes its address wait, and nobody else
LONGEST_WAIT_S = 60.0


class _Knock(Struct):
    """A browser at the door."""

    code: str
    who: str
    until_s: float
    # Set by the owner's word
    is_let_in: bool = False


class BrowserSessions:
    """Lets browsers in, knows them again, and ends their sessions.

    Args:
        button: the board's, by which who stands there opens to a browser.
    """

    def __init__(self, pairing: Pairing, clock: Clock, button: DoorButton) -> None:
        self._pairing = pairing
        self._people = pairing.people
        self._clock = clock
        self._button = button
        self._attempts = Attempts(clock, LONGEST_WAIT_S, is_first_free=True)
        # By the hash of the door's cookie, the newest last
        self._knocks: OrderedDict[str, _Knock] = OrderedDict()

    def person(self, session: str) -> Person | None:
        """Return the person whose browser has this cookie; None for a stranger's."""
        if not 0 < len(session) <= MAX_TOKEN_CHARS:
            return None
        # By the hash alone: the time that it takes to find tells nothing of the cookie
        return self._people.find(BROWSERS, digest(session))

    def stands(self, browser: str) -> bool:
        """Return true if the browser of that name still has its session."""
        return self._people.find(BROWSERS, browser) is not None

    def knock(self, door: str, who: str) -> str:
        """Return the code that the browser shows; the same one while it waits."""
        self._forget_late()
        key = digest(door[:MAX_TOKEN_CHARS])
        if (known := self._knocks.get(key)) is not None:
            return known.code
        own = [name for name, one in self._knocks.items() if one.who == who]
        if len(own) >= MAX_KNOCKS_OF_ONE:
            del self._knocks[own[0]]
        elif len(self._knocks) >= MAX_KNOCKS:
            self._knocks.popitem(last=False)
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARS))
        until_s = self._clock.monotonic_s() + KNOCK_TTL_S
        self._knocks[key] = _Knock(code, who, until_s)
        return code

    @property
    def has_button(self) -> bool:
        """Return true if a press on the board can open."""
        return self._button.is_there

    def press(self, door: str) -> DoorPress:
        """Open to this browser, which has knocked, at a long press of the board's button."""
        key = digest(door[:MAX_TOKEN_CHARS])

        def open_door() -> None:
            if (knock := self._knocks.get(key)) is not None:
                knock.is_let_in = True
                _log.info("access: door opened by the board's button (address=%s)", knock.who)

        return self._button.ask(key, open_door)

    async def let_in(self, code: str) -> bool:
        """Open to the browser that shows the code, by the owner's word; true if one does."""
        self._forget_late()
        wanted = code.upper().translate(_MISREAD)
        found = [one for one in self._knocks.values() if one.code == wanted]
        for one in found:
            one.is_let_in = True
        return bool(found)

    async def claim(self, door: str) -> str:
        """Return the session of a browser that was let in, once; empty for the others.

        Raises:
            StorageFull: it could not be kept, so it would be worth nothing.
        """
        self._forget_late()
        key = digest(door[:MAX_TOKEN_CHARS])
        knock = self._knocks.get(key)
        if knock is None or not knock.is_let_in:
            return ""
        del self._knocks[key]
        return await self._begin(PersonRole.OWNER, "", OWNER_ID)

    def wait_s(self, who: str) -> float:
        """Return the seconds until this address may try a code again; 0 for now."""
        return self._attempts.wait_s(who)

    async def enter(self, code: str, who: str) -> str:
        """Return the session that a code of `barnacle pair` gives; empty if it gives none.

        Raises:
            StorageFull: nothing was changed.
        """
        if self.wait_s(who):
            return ""
        # Counted before it is looked at: many at once are no more than that many tries
        self._attempts.note_wrong(who)
        invitation = await asyncio.to_thread(self._pairing.codes.spend, code)
        if invitation is None:
            return ""
        self._attempts.forget(who)
        return await self._begin(invitation.rank, invitation.name, invitation.person_id)

    async def end(self, session: str) -> bool:
        """End a session; its person stays.

        Raises:
            StorageFull: nothing was changed.
        """
        return await asyncio.to_thread(self._people.forget_account, BROWSERS, digest(session))

    async def _begin(self, rank: PersonRole, name: str, person_id: str) -> str:
        session = secrets.token_urlsafe(_TOKEN_BYTES)
        known = digest(session)
        account = PersonAccount(channel=BROWSERS, sender=known, target=known)
        person = await asyncio.to_thread(
            self._people.let_in, rank, account, name, "" if rank is PersonRole.OWNER else person_id
        )
        _log.info(
            "access: browser let in (person=%s, role=%s, browser=%s)",
            person.person_id,
            person.role,
            known,
        )
        if person.rank is not PersonRole.OWNER or len(person.accounts) > 1:
            await self._pairing.tell(announced(person, BROWSERS))
        return session

    def _forget_late(self) -> None:
        now_s = self._clock.monotonic_s()
        for key in [name for name, one in self._knocks.items() if one.until_s <= now_s]:
            del self._knocks[key]


def digest(token: str) -> str:
    """Return the name of a cookie: half of its hash is more than anybody meets by chance."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]
