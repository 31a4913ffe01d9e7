"""Events of a homeserver, as far as they are used; the rest is left alone.

An event's content is somebody's and is taken apart where it is read: what does not fit is no
message, and never the end of listening.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct, field

# Of accounts, rooms and events; half a character would go into no file and no address
_ID = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,255}")


class Event(Struct, frozen=True):
    """One thing that happened in a room."""

    type: str = ""
    event_id: str = ""
    sender: str = ""
    state_key: str | None = None
    origin_server_ts: int = 0
    content: dict[str, Any] = field(default_factory=dict)
    unsigned: dict[str, Any] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """Return the text at that key of the content; empty if it is no text."""
        return _text(self.content, key)

    @property
    def relation(self) -> "Relation":
        told = self.content.get("m.relates_to")
        about: dict[str, Any] = told if isinstance(told, dict) else {}
        answered = about.get("m.in_reply_to")
        reply = _id(answered, "event_id") if isinstance(answered, dict) else ""
        kind = _text(about, "rel_type")
        if kind == "m.thread" and about.get("is_falling_back") is True:
            # For programs that know no threads
            reply = ""
        return Relation(kind, _id(about, "event_id"), reply)


class Relation(Struct, frozen=True):
    """Relation of an event to another; empty if it stands alone."""

    kind: str
    event_id: str
    answers: str


class Timeline(Struct, frozen=True):
    """Timeline of a room; a limited one has a gap before it."""

    events: list[Any] = field(default_factory=list)
    limited: bool = False
    prev_batch: str = ""


class InviteState(Struct, frozen=True):
    """State of a room before it is joined."""

    events: list[Any] = field(default_factory=list)


class ToDevice(Struct, frozen=True):
    """Messages of devices to ours alone."""

    events: list[Any] = field(default_factory=list)


class DeviceLists(Struct, frozen=True):
    """Accounts whose devices changed."""

    changed: list[Any] = field(default_factory=list)


class Joined(Struct, frozen=True):
    """A room that we are in."""

    timeline: Timeline = field(default_factory=Timeline)


class Invited(Struct, frozen=True):
    """A room that somebody asks us into."""

    invite_state: InviteState = field(default_factory=InviteState)


class Rooms(Struct, frozen=True):
    """Those where something happened, by id."""

    join: dict[str, Joined] = field(default_factory=dict)
    invite: dict[str, Invited] = field(default_factory=dict)


class Sync(Struct, frozen=True):
    """Events since the last sync, and the position to go on from."""

    next_batch: str = ""
    rooms: Rooms = field(default_factory=Rooms)
    to_device: ToDevice = field(default_factory=ToDevice)
    device_lists: DeviceLists = field(default_factory=DeviceLists)
    # Keys that the server has of ours, by kind
    device_one_time_keys_count: dict[str, int] = field(default_factory=dict)
    device_unused_fallback_key_types: list[str] | None = None


def sync_in(told: object) -> Sync | None:
    """None where the answer is no such thing."""
    try:
        return msgspec.convert(told, Sync)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None


def events_in(told: object) -> list[Event]:
    """Those that are events; others are passed over."""
    found: list[Event] = []
    for one in told if isinstance(told, list) else ():
        try:
            found.append(msgspec.convert(one, Event))
        # The second one where the first would quote half a character
        except (msgspec.ValidationError, UnicodeEncodeError):
            continue
    return found


def is_id(told: str) -> bool:
    return _ID.fullmatch(told) is not None


def _id(told: dict[str, Any], key: str) -> str:
    value = _text(told, key)
    return value if is_id(value) else ""


def _text(told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""
