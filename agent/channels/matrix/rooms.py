"""Members of a room, asked from the server when somebody came or went."""

from collections import OrderedDict

from msgspec import Struct

from agent.channels.matrix.client import MatrixApi, quoted
from agent.channels.matrix.events import events_in
from agent.channels.matrix.inbound import membership
from agent.errors import ChannelUnavailable

# Rooms whose people are known at a time
MAX_ROOMS = 500
# A chat of two
_TWO = 2
_THERE = frozenset({"join", "invite"})


class MatrixMembers(Struct, frozen=True):
    """Names of the members, by account; the invited can read, and count."""

    names: dict[str, str]

    @property
    def is_group(self) -> bool:
        return len(self.names) > _TWO


class MatrixRooms:
    """Members of one account's rooms."""

    def __init__(self, api: MatrixApi) -> None:
        self._api = api
        self._known: OrderedDict[str, MatrixMembers] = OrderedDict()

    async def people(self, room: str) -> MatrixMembers:
        """Return the members; raises ChannelError if the server does not list them."""
        if room not in self._known:
            self._known[room] = await self._ask(room)
            if len(self._known) > MAX_ROOMS:
                self._known.popitem(last=False)
        return self._known[room]

    def forget(self, room: str) -> None:
        self._known.pop(room, None)

    def forget_all(self) -> None:
        self._known.clear()

    def is_group(self, room: str) -> bool:
        """Return true if the room was last known as a group; unknown rooms are chats of two."""
        return room in self._known and self._known[room].is_group

    async def _ask(self, room: str) -> MatrixMembers:
        told = await self._api.call("GET", f"/rooms/{quoted(room)}/members", not_membership="leave")
        names: dict[str, str] = {}
        for event in events_in(told.get("chunk")):
            if event.state_key and membership(event.content) in _THERE:
                names[event.state_key] = event.text("displayname")
        if not names:
            raise ChannelUnavailable("unreadable member list from the Matrix server")
        return MatrixMembers(names)
