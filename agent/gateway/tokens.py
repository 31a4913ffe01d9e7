"""Who has a token: the configured one, or one that somebody got for a one-time code.

Tokens of the second kind are accounts of people, by their hash: whoever is revoked has none. The
owner is made in a chat, never here: a code can make no token that may do more than look.
"""

import asyncio
import hashlib
import hmac
import secrets

from agent.clock import Clock
from agent.dispatch.attempts import Attempts
from agent.dispatch.codes import Codes
from agent.dispatch.owner import Tell
from agent.dispatch.pairing import announced, tell_nobody
from agent.dispatch.people import Account, People
from agent.dispatch.rank import Rank

NAME = "gateway"
# More than anybody guesses, ever
_TOKEN_BYTES = 32
# A wrong code makes its caller wait, and nobody else. A code has 50 bits and lives for minutes, so
# this is time enough, and whoever shares an address with a guesser is not kept out for long
LONGEST_WAIT_S = 60.0
# Longer ones are none of ours
MAX_TOKEN_CHARS = 256


class Tokens:
    """Makes tokens, and tells right ones from wrong ones.

    Args:
        tell: the owner, of everybody who gets one.
    """

    def __init__(
        self, token: str, people: People, codes: Codes, clock: Clock, tell: Tell = tell_nobody
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
        """Whether it is the configured one or that of somebody who is let in."""
        if len(token) > MAX_TOKEN_CHARS:
            return False
        is_ours = hmac.compare_digest(self._token, token.encode()) and bool(self._token)
        # By the hash alone: the time that it takes to find tells nothing of the token
        return self._people.find(NAME, _digest(token)) is not None or is_ours

    def wait_s(self, who: str) -> float:
        """How long until a code of this caller is looked at; 0 for now."""
        return self._attempts.wait_s(who)

    async def for_code(self, code: str, who: str) -> str | None:
        """A new token for whoever has the code; None where it is no code for that.

        Raises:
            StorageFull: nothing was changed.
        """
        if self.wait_s(who):
            return None
        # Counted before it is looked at: many at once are no more than that many tries
        self._attempts.note_wrong(who)
        invitation = await asyncio.to_thread(self._codes.spend, code)
        if invitation is None or invitation.rank is Rank.OWNER:
            return None
        self._attempts.forget(who)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        account = Account(channel=NAME, sender=_digest(token), target="")
        person = await asyncio.to_thread(
            self._people.let_in, invitation.rank, account, invitation.name, invitation.person_id
        )
        await self._tell(announced(person, NAME))
        return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
