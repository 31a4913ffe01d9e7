"""Invitations to rooms: accepted or declined, again where another server is in trouble.

Anybody can invite the agent to a room of a server that then says nothing: that holds up no message.
A room that takes the place of another counts as an invitation to it.
"""

import logging
from collections import OrderedDict

from msgspec import Struct

from agent.channels.matrix.client import MAX_ANSWER_BYTES, MatrixApi, MatrixRefused, quoted
from agent.errors import ChannelUnavailable
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A server is away for as long as it is restarted; each try may cost a whole timeout of listening
RETRY_S = 60.0
MAX_TRIES = 10
# More at once are an attack
MAX_WAITING = 50


class _Invitation(Struct):
    """Invitation without an answer.

    Args:
        path: what it is answered by.
        via: the server that knows a room which takes the place of another; empty for all others.
    """

    path: str
    via: str = ""
    due_s: float = 0.0
    tries: int = 0


class MatrixInvitations:
    """Invitations of one account."""

    def __init__(self, api: MatrixApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._waiting: OrderedDict[str, _Invitation] = OrderedDict()

    def note(self, room: str, *, is_accepted: bool) -> None:
        answer = "join" if is_accepted else "leave"
        self._note(room, _Invitation(f"/rooms/{quoted(room)}/{answer}"))

    def follow(self, room: str, via: str) -> None:
        """Join the room that takes the place of another, of which that server knows."""
        self._note(room, _Invitation(f"/join/{quoted(room)}", via))

    def _note(self, room: str, invitation: _Invitation) -> None:
        self._waiting[room] = invitation
        self._waiting.move_to_end(room)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)

    async def answer(self) -> None:
        """Answer those that are due, the least tried first, up to the first one that fails.

        Raises:
            ChannelRefused: a person has to act.
        """
        for room, one in sorted(self._waiting.items(), key=lambda waiting: waiting[1].tries):
            if one.due_s > self._clock.monotonic_s():
                continue
            try:
                await self._api.call("POST", one.path, {}, MAX_ANSWER_BYTES, **_by(one.via))
            except MatrixRefused as err:
                _tell_refused(room, one, err)
            except ChannelUnavailable as err:
                self._postpone(room, one, err)
                return
            del self._waiting[room]

    def _postpone(self, room: str, one: _Invitation, err: ChannelUnavailable) -> None:
        one.tries += 1
        now_s = self._clock.monotonic_s()
        for other in self._waiting.values():
            other.due_s = max(other.due_s, now_s + max(RETRY_S, err.retry_after_s or 0.0))
        if one.tries >= MAX_TRIES:
            del self._waiting[room]
        _log.info("matrix: invitation not answered yet (tries=%d, reason=%s)", one.tries, err)


def _by(via: str) -> dict[str, str | int]:
    """Return how a room of another server is found, for servers of every age."""
    return {"via": via, "server_name": via} if via else {}


def _tell_refused(room: str, one: _Invitation, err: MatrixRefused) -> None:
    if one.via:
        remedy = "invite the agent to it"
        _log.warning(
            "matrix: replacement room not joined (room=%s, reason=%s, remedy=%s)", room, err, remedy
        )
    else:
        _log.info("matrix: invitation not valid (reason=%s)", err)
