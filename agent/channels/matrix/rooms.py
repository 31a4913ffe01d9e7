"""Members of a room, asked from the server when somebody came or went."""

from collections import OrderedDict
from dataclasses import dataclass

from agent.channels.matrix.api import MatrixApi, quoted
from agent.channels.matrix.events import events_in
from agent.channels.matrix.understanding import membership
from agent.errors import ChannelUnavailable

# Rooms whose people are known at a time
MAX_ROOMS = 500
# A chat of two
_TWO = 2
_THERE = frozenset({"join", "invite"})


@dataclass(frozen=True, slots=True)
class People:
    """Names of the members, by account; the invited can read, and count."""

    names: dict[str, str]

    @property
    def is_group(self) -> bool:
        return len(self.names) > _TWO


class Rooms:
    """The rooms of one account."""

    def __init__(self, api: MatrixApi) -> None:
        self._api = api
        self._known: OrderedDict[str, People] = OrderedDict()

    async def people(self, room: str) -> People:
        """Raises ChannelError where the server does not tell."""
        if room not in self._known:
            self._known[room] = await self._ask(room)
            if len(self._known) > MAX_ROOMS:
                self._known.popitem(last=False)
        return self._known[room]

    def forget(self, room: str) -> None:
        self._known.pop(room, None)

    def is_group(self, room: str) -> bool:
        """Return true if the room was last known as a group; unknown rooms are chats of two."""
        return room in self._known and self._known[room].is_group

    async def _ask(self, room: str) -> People:
        told = await self._api.call("GET", f"/rooms/{quoted(room)}/members", not_membership="leave")
        names: dict[str, str] = {}
        for event in events_in(told.get("chunk")):
            if event.state_key and membership(event.content) in _THERE:
                names[event.state_key] = event.text("displayname")
        if not names:
            raise ChannelUnavailable("the Matrix server does not say who is in a room")
        return People(names)
