"""Members of a room, asked from the server when somebody came or went, and what took its place.

A room takes the place of another where each names the other: whoever ended the one, by the rules of
its server, and whoever made the other.
"""

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from agent.channels.matrix.client import MatrixApi, MatrixRefused, quoted
from agent.channels.matrix.events import events_in, is_id
from agent.channels.matrix.inbound import membership
from agent.errors import ChannelUnavailable

# Rooms whose people are known at a time
MAX_ROOMS = 500
# A chat of two
_TWO = 2
# Upgrades of one room; more are a circle
_MOST_MOVES = 10
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

    async def now_at(self, room: str, account: str) -> str:
        """Return the room that took its place, if the account is in it; else the room itself.

        Raises:
            ChannelError: not now.
        """
        for _ in range(_MOST_MOVES):
            new = (await self._state(room, "m.room.tombstone")).get("replacement_room")
            if not isinstance(new, str) or await self.before(new) != room:
                break
            mine = await self._state(new, "m.room.member", account)
            if membership(mine) != "join":
                break
            room = new
        return room

    async def before(self, room: str) -> str:
        """Return the room whose place it says it took; empty if it took none.

        Raises:
            ChannelError: not now.
        """
        if not is_id(room):
            return ""
        told = (await self._state(room, "m.room.create")).get("predecessor")
        old = told.get("room_id") if isinstance(told, dict) else None
        return old if isinstance(old, str) and is_id(old) else ""

    async def _state(self, room: str, kind: str, key: str = "") -> dict[str, Any]:
        path = f"/rooms/{quoted(room)}/state/{kind}/{quoted(key)}"
        try:
            return await self._api.call("GET", path)
        except MatrixRefused:
            # There is none, or it is none of ours
            return {}

    async def _ask(self, room: str) -> MatrixMembers:
        told = await self._api.call("GET", f"/rooms/{quoted(room)}/members", not_membership="leave")
        names: dict[str, str] = {}
        for event in events_in(told.get("chunk")):
            if event.state_key and membership(event.content) in _THERE:
                names[event.state_key] = event.text("displayname")
        if not names:
            raise ChannelUnavailable("unreadable member list from the Matrix server")
        return MatrixMembers(names)
