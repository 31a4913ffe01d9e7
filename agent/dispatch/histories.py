"""The histories of the conversations that are going on, kept from one turn to the next.

A turn reads what the turn before it has added, not everything again. The database has the say:
only what it has committed is kept here, and what is taken out of it is let go here first.
Used in the thread of the journal alone.
"""

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass, field

from agent.dispatch import session
from agent.dispatch.condensing import FRESH_TURNS, normalised, without_ballast
from agent.dispatch.session import History, Kept
from agent.messages import ChatMessage, Provenance, Role

# All conversations together: half a megabyte of English, in Python three times that
MOST_KEPT_TOKENS = 128_000
# Jobs have conversations of their own: short ones, and many
MOST_KEPT = 64
# So many turns are made fit to be shown anew, in every turn; those before them stay as they are
_OPEN_TURNS = FRESH_TURNS + 5


@dataclass(slots=True)
class _Known:
    """A conversation as far as it was read.

    Args:
        settled: what older turns look like to a model from now on.
        open: the rows of the newest turns, whose look still changes.
    """

    last_id: int = 0
    tokens: int = 0
    provenance: Provenance = Provenance.OWNER
    settled: tuple[ChatMessage, ...] = ()
    open: list[Kept] = field(default_factory=list)

    def take(self, added: list[Kept]) -> None:
        self.last_id = added[-1].row_id
        self.tokens += sum(row.tokens for row in added)
        self.open = session.turns_in([*self.open, *added])
        self._settle()

    def shown(self) -> tuple[ChatMessage, ...]:
        return self.settled + without_ballast(normalised(row.message for row in self.open))

    def _settle(self) -> None:
        # What follows an answer begins a turn of its own, whatever becomes of the rows before it
        roles = [row.message.role for row in self.open]
        ends = [at for at, role in enumerate(roles[1:], 1) if role is Role.USER]
        starts = [at for at in ends if roles[at - 1] is Role.ASSISTANT]
        if len(starts) < _OPEN_TURNS:
            return
        old, self.open = self.open[: starts[-FRESH_TURNS]], self.open[starts[-FRESH_TURNS] :]
        shown = normalised(row.message for row in old)
        self.settled += without_ballast(shown, fresh_turns=0)
        self.provenance = min(self.provenance, *(row.provenance for row in old))


class Histories:
    """What `session` says of each conversation, without reading all of it in every turn."""

    def __init__(self) -> None:
        # The one that was looked at last is the last
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def history(self, connection: sqlite3.Connection, conversation: str) -> History:
        """As `session.history`; for a transaction that has changed nothing."""
        known = self._known.setdefault(conversation, _Known())
        self._known.move_to_end(conversation)
        if added := session.rows(connection, conversation, after=known.last_id):
            known.take(added)
        self._make_room()
        digest, trust = session.digest_of(connection, conversation)
        trusts = (trust, known.provenance, *(row.provenance for row in known.open))
        return History(known.shown(), min(trusts), session.digested(digest, trust))

    def bound(self, connection: sqlite3.Connection, conversation: str, max_tokens: int) -> bool:
        """As `session.bound`."""
        if (known := self._known.get(conversation)) is not None:
            added = session.rows(connection, conversation, after=known.last_id)
            if known.tokens + sum(row.tokens for row in added) <= max_tokens:
                return False
        self._forget(conversation)
        return session.bound(connection, conversation, max_tokens)

    def halve(self, connection: sqlite3.Connection, conversation: str) -> None:
        """As `session.halve`."""
        self._forget(conversation)
        session.halve(connection, conversation)

    def clear(self, connection: sqlite3.Connection, conversation: str) -> int:
        """As `session.clear`."""
        self._forget(conversation)
        return session.clear(connection, conversation)

    def _forget(self, conversation: str) -> None:
        self._known.pop(conversation, None)

    def _make_room(self) -> None:
        tokens = sum(known.tokens for known in self._known.values())
        while tokens > MOST_KEPT_TOKENS or len(self._known) > MOST_KEPT:
            _, oldest = self._known.popitem(last=False)
            tokens -= oldest.tokens
