"""Invitations to rooms: accepted or declined, again where another server is in trouble.

Anybody can invite the agent to a room of a server that then says nothing: that holds up no message.
A room that takes the place of another counts as an invitation to it. What waits is kept beside the
cursor, because the server does not tell of it again.
"""

import logging
from collections import defaultdict

from msgspec import Struct

from agent.channels.matrix.client import MAX_ANSWER_BYTES, MatrixApi, MatrixRefused, quoted
from agent.channels.matrix.cursor import MatrixCursor, WaitingInvitation
from agent.channels.matrix.events import is_id
from agent.errors import ChannelUnavailable
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A server is away for as long as it is restarted; each try may cost a whole timeout of listening
RETRY_S = 60.0
MAX_TRIES = 10
# More at once are an attack
MAX_WAITING = 50


class _Tries(Struct):
    """Tries to answer an invitation in this run."""

    count: int = 0
    due_s: float = 0.0


class MatrixInvitations:
    """Invitations of one account."""

    def __init__(self, api: MatrixApi, position: MatrixCursor, clock: Clock) -> None:
        self._api = api
        self._position = position
        self._clock = clock
        self._tries: defaultdict[str, _Tries] = defaultdict(_Tries)

    def note(self, room: str, *, is_accepted: bool) -> None:
        self._note(WaitingInvitation(room, "join" if is_accepted else "leave"))

    def follow(self, room: str, via: str) -> None:
        """Join the room that takes the place of another, of which that server knows."""
        self._note(WaitingInvitation(room, "join", via))

    def _note(self, invitation: WaitingInvitation) -> None:
        # Half a character would go into no file
        if not is_id(invitation.room):
            return
        self._done(invitation.room)
        waiting = self._position.invitations
        waiting[invitation.room] = invitation
        if len(waiting) > MAX_WAITING:
            self._done(next(iter(waiting)))

    async def answer(self) -> None:
        """Answer those that are due, the least tried first, up to the first one that fails.

        Raises:
            ChannelRefused: a person has to act.
        """
        waiting = list(self._position.invitations.values())
        for one in sorted(waiting, key=lambda waiting: self._tries[waiting.room].count):
            if self._tries[one.room].due_s > self._clock.monotonic_s():
                continue
            try:
                await self._api.call("POST", _path(one), {}, MAX_ANSWER_BYTES, **_query(one))
            except MatrixRefused as err:
                _tell_refused(one, err)
            except ChannelUnavailable as err:
                self._postpone(one.room, err)
                return
            self._done(one.room)

    def _postpone(self, room: str, err: ChannelUnavailable) -> None:
        now_s = self._clock.monotonic_s()
        for other in self._position.invitations:
            tries = self._tries[other]
            tries.due_s = max(tries.due_s, now_s + max(RETRY_S, err.retry_after_s or 0.0))
        count = self._tries[room].count = self._tries[room].count + 1
        if count >= MAX_TRIES:
            self._done(room)
        _log.info("matrix: invitation not answered yet (tries=%d, reason=%s)", count, err)

    def _done(self, room: str) -> None:
        self._position.invitations.pop(room, None)
        self._tries.pop(room, None)


def _path(one: WaitingInvitation) -> str:
    room = quoted(one.room)
    return f"/join/{room}" if one.via else f"/rooms/{room}/{one.answer}"


def _query(one: WaitingInvitation) -> dict[str, str | int]:
    """Return how a room of another server is found, for servers of every age."""
    return {"via": one.via, "server_name": one.via} if one.via else {}


def _tell_refused(one: WaitingInvitation, err: MatrixRefused) -> None:
    if one.via:
        _log.warning(
            "matrix: replacement room not joined (room=%s, reason=%s, remedy=%s)",
            one.room,
            err,
            "invite the agent to it",
        )
    else:
        _log.info("matrix: invitation not valid (reason=%s)", err)
