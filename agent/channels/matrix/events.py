"""Events of a homeserver, as far as they are used.

An event's content is somebody's and is taken apart where it is read: what does not fit is no
message, and never the end of listening.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct, field

# Of accounts, rooms and events; half a character would go into no file and no address
_ID = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,255}")


class MatrixEvent(Struct, frozen=True):
    """Event in a room."""

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
    def relation(self) -> "MatrixRelation":
        told = self.content.get("m.relates_to")
        about: dict[str, Any] = told if isinstance(told, dict) else {}
        answered = about.get("m.in_reply_to")
        reply = _id(answered, "event_id") if isinstance(answered, dict) else ""
        kind = _text(about, "rel_type")
        if kind == "m.thread" and about.get("is_falling_back") is True:
            # For programs that know no threads
            reply = ""
        return MatrixRelation(kind, _id(about, "event_id"), reply)


class MatrixRelation(Struct, frozen=True):
    """Relation of an event to another; empty if it stands alone."""

    kind: str
    event_id: str
    answers: str


class MatrixTimeline(Struct, frozen=True):
    """Timeline of a room; a limited one has a gap before it."""

    events: list[Any] = field(default_factory=list)
    limited: bool = False
    prev_batch: str = ""


class MatrixInviteState(Struct, frozen=True):
    """State of a room before it is joined."""

    events: list[Any] = field(default_factory=list)


class MatrixToDevice(Struct, frozen=True):
    """Messages of devices to ours alone."""

    events: list[Any] = field(default_factory=list)


class MatrixDeviceLists(Struct, frozen=True):
    """Accounts whose devices changed."""

    changed: list[Any] = field(default_factory=list)


class MatrixJoinedRoom(Struct, frozen=True):
    """Room that we are in."""

    timeline: MatrixTimeline = field(default_factory=MatrixTimeline)


class MatrixInvitedRoom(Struct, frozen=True):
    """Room that somebody invites us to."""

    invite_state: MatrixInviteState = field(default_factory=MatrixInviteState)


class MatrixSyncRooms(Struct, frozen=True):
    """Rooms with new events, by id."""

    join: dict[str, MatrixJoinedRoom] = field(default_factory=dict)
    invite: dict[str, MatrixInvitedRoom] = field(default_factory=dict)


class MatrixSync(Struct, frozen=True):
    """Events since the last sync, and the position to go on from."""

    next_batch: str = ""
    rooms: MatrixSyncRooms = field(default_factory=MatrixSyncRooms)
    to_device: MatrixToDevice = field(default_factory=MatrixToDevice)
    device_lists: MatrixDeviceLists = field(default_factory=MatrixDeviceLists)
    # Keys that the server has of ours, by kind
    device_one_time_keys_count: dict[str, int] = field(default_factory=dict)
    device_unused_fallback_key_types: list[str] | None = None


def sync_in(told: object) -> MatrixSync | None:
    """Decode a sync; None if it is invalid."""
    try:
        return msgspec.convert(told, MatrixSync)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None


def events_in(told: object) -> list[MatrixEvent]:
    """Return the valid events; others are skipped."""
    found: list[MatrixEvent] = []
    for one in told if isinstance(told, list) else ():
        try:
            found.append(msgspec.convert(one, MatrixEvent))
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
