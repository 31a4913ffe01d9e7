"""Rooms that the agent is in, and their people; a nick alone identifies nobody."""

import logging
from xml.etree.ElementTree import Element

from msgspec import Struct, field

from agent.channels.xmpp.confirmations import XmppRefused
from agent.channels.xmpp.connection import XmppConnection
from agent.channels.xmpp.stanzas import (
    FORM,
    ROOM,
    ROOM_OWNER,
    ROOM_USER,
    XmppMessage,
    bare,
    element,
    host_of,
    within,
)
from agent.errors import ChannelUnavailable
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# A room shows everybody who is there before it lets somebody in
MAX_PEOPLE = 5000
MAX_NICK_CHARS = 100
# Somebody else has our name there: so many underlines are tried behind it
MAX_TRIED_NICKS = 3
_SELF = "110"
# We have made it by entering, and nobody else is let in until it is configured
_CREATED = "201"


class XmppRoom(Struct):
    """Room; `people` are the real addresses, if the room shows them."""

    address: str
    nick: str
    is_in: bool = False
    tried: int = 0
    reason: str = ""
    people: dict[str, str] = field(default_factory=dict)


class XmppRooms:
    """Rooms of one connection, by address."""

    def __init__(self, connection: XmppConnection, addresses: tuple[str, ...], nick: str) -> None:
        self._connection = connection
        self._rooms = {one.lower(): XmppRoom(one.lower(), nick) for one in addresses}

    def __contains__(self, address: str) -> bool:
        return address in self._rooms

    def is_in(self, room: str) -> bool:
        return self._rooms[room].is_in

    @property
    def gap(self) -> str:
        """Return the rooms that we are not in, with the reasons; empty if we are in all."""
        missing = (room for room in self._rooms.values() if room.reason and not room.is_in)
        return "; ".join(f"{room.address} ({room.reason})" for room in missing)

    def nick(self, room: str) -> str:
        return self._rooms[room].nick

    async def enter(self) -> None:
        """Join the rooms that we are not in."""
        for room in self._rooms.values():
            if room.is_in:
                await self._look(room)
            if not room.is_in:
                self._knock(room)

    def take(self, told: Element) -> None:
        """Handle a presence, which may be of a room."""
        address, _, nick = told.get("from", "").partition("/")
        room = self._rooms.get(address)
        if room is None:
            return
        codes = {one.get("code") for one in told.iter(f"{{{ROOM_USER}}}status")}
        if told.get("type") == "error":
            self._kept_out(room, told)
        elif told.get("type") == "unavailable":
            room.people.pop(nick, None)
            if _SELF in codes and room.is_in:
                room.is_in, room.reason = False, "removed from it"
                _log.warning(
                    "xmpp: removed from a room (room=%s)", printable_line(address, MAX_NICK_CHARS)
                )
        else:
            item = next(told.iter(f"{{{ROOM_USER}}}item"), None)
            if len(room.people) < MAX_PEOPLE and item is not None:
                room.people[nick] = bare(item.get("jid", ""))
            if _SELF in codes:
                room.is_in, room.nick, room.reason = True, nick, ""
            if _CREATED in codes:
                self._unlock(room)

    def person(self, message: XmppMessage) -> str:
        """Return the writer's lasting id; empty if the room hides it.

        An address counts only from rooms of our own server: others could claim any.
        """
        room = self._rooms[message.bare]
        address = message.address or room.people.get(message.nick, "")
        host, own = host_of(room.address), self._connection.host
        if address and (host == own or host.endswith(f".{own}")):
            return address
        return f"{room.address}/{message.occupant}" if message.occupant else ""

    async def _look(self, room: XmppRoom) -> None:
        try:
            await self._connection.ping(f"{room.address}/{room.nick}")
        except XmppRefused as err:
            # Others say that a program of theirs knows no such question
            if err.condition in {"not-acceptable", "item-not-found", "remote-server-not-found"}:
                room.is_in = False
        except ChannelUnavailable:
            # Unless it is our own server that says nothing
            self._connection.entrance.check()
            room.is_in, room.reason = False, "its server does not answer"

    def _knock(self, room: XmppRoom) -> None:
        nothing = element(ROOM, "history", maxstanzas="0")
        wish = within(element(ROOM, "x"), [nothing])
        self._connection.present(f"{room.address}/{room.nick}", children=[wish])

    def _unlock(self, room: XmppRoom) -> None:
        """Take the settings that the server has for a new room (XEP-0045, 10.1.2)."""
        usual = element(FORM, "x", type="submit")
        self._connection.wish(room.address, within(element(ROOM_OWNER, "query"), [usual]))
        _log.info("xmpp: room created (room=%s)", printable_line(room.address, MAX_NICK_CHARS))

    def _kept_out(self, room: XmppRoom, told: Element) -> None:
        reason = next((one.tag.partition("}")[2] for error in told for one in error), "")
        if reason == "conflict" and room.tried < MAX_TRIED_NICKS:
            room.tried += 1
            room.nick += "_"
            self._knock(room)
            return
        if not room.is_in:
            room.reason = printable_line(reason, MAX_NICK_CHARS)
            shown = printable_line(f"{room.address}: {reason}", 4 * MAX_NICK_CHARS)
            _log.warning("xmpp: cannot join a room (room=%s)", shown)
