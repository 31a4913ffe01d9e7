"""Tokens of the gateway: the configured one, and those given for one-time codes.

Tokens of the second kind are accounts of people, by their hash: whoever is revoked has none. The
owner is made in a chat, never here: a code can make no token that may do more than look.
"""

import asyncio
import hashlib
import hmac
import secrets

from agent.access.owner import Tell
from agent.access.pairing import announced, tell_nobody
from agent.access.pairing_codes import Attempts, Codes, Invitation
from agent.access.people import OWNER_ID, PeopleStore, Person, PersonAccount
from agent.access.roles import PersonRole
from agent.system.clock import Clock

NAME = "gateway"
# More than anybody guesses, ever
_TOKEN_BYTES = 32
# A wrong code makes its caller wait, and nobody else. A code has 50 bits and lives for minutes, so
# this is time enough, and whoever shares an address with a guesser is not kept out for long
LONGEST_WAIT_S = 60.0
# Longer ones are none of ours
MAX_TOKEN_CHARS = 256


class GatewayTokens:
    """Issuer and verifier of tokens.

    Args:
        tell: the owner, of everybody who gets one.
    """

    def __init__(
        self, token: str, people: PeopleStore, codes: Codes, clock: Clock, tell: Tell = tell_nobody
    ) -> None:
        self._token = token.encode()
        self._tell = tell
        self._people = people
        self._codes = codes
        self._attempts = Attempts(clock, LONGEST_WAIT_S, is_first_free=True)

    @property
    def is_needed(self) -> bool:
        return bool(self._token)

    def is_right(self, token: str) -> bool:
        """Return true for the configured token and for those of people with access."""
        if len(token) > MAX_TOKEN_CHARS:
            return False
        is_ours = hmac.compare_digest(self._token, token.encode()) and bool(self._token)
        # By the hash alone: the time that it takes to find tells nothing of the token
        return self._people.find(NAME, _digest(token)) is not None or is_ours

    def holder(self, token: str) -> tuple[Person, str] | None:
        """Return the person of a token and its account; None for no person's token."""
        if not token or len(token) > MAX_TOKEN_CHARS:
            return None
        account = _digest(token)
        person = self._people.find(NAME, account)
        return None if person is None else (person, account)

    def wait_s(self, who: str) -> float:
        """Return the seconds until this caller may try a code again; 0 for now."""
        return self._attempts.wait_s(who)

    async def for_code(self, code: str, who: str) -> str | None:
        """Return a new token for a code; None if the code gives none.

        Raises:
            StorageFull: nothing was changed.
        """
        if self.wait_s(who):
            return None
        # Counted before it is looked at: many at once are no more than that many tries
        self._attempts.note_wrong(who)
        invitation = await asyncio.to_thread(self._codes.spend, code)
        if invitation is None or _is_owners(invitation):
            return None
        self._attempts.forget(who)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        account = PersonAccount(channel=NAME, sender=_digest(token), target="")
        person = await asyncio.to_thread(
            self._people.let_in, invitation.rank, account, invitation.name, invitation.person_id
        )
        await self._tell(announced(person, NAME))
        return token


def _is_owners(invitation: Invitation) -> bool:
    return invitation.rank is PersonRole.OWNER or invitation.person_id == OWNER_ID


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
