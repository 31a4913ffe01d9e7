"""Events of the gateway as typed values: only the fields that are used, each checked."""

from typing import TypeVar

import msgspec

# Kinds of messages that a person has written: a plain one, and one that answers another
WRITTEN = frozenset({0, 19})
# Bit of a message's flags: its file is somebody speaking
VOICE_FLAG = 1 << 13
# The kind of a reference to a message that is passed on
_FORWARD = 1
# Threads of announcements, public and private ones
_THREADS = frozenset({10, 11, 12})
_PRIVATE_THREAD = 12
# Discord's first second: the upper bits of its ids are milliseconds from there
_EPOCH_S = 1_420_070_400

Kind = TypeVar("Kind", bound="_Wire")


class _Wire(msgspec.Struct, frozen=True, rename={"kind": "type"}):
    """Base of the events; fields that are not named are ignored."""


class DiscordUser(_Wire, frozen=True):
    """Person or bot."""

    id: str
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False


class DiscordId(_Wire, frozen=True):
    """Object with an id, and when a person has edited it."""

    id: str
    edited_timestamp: str | None = None

    @property
    def known(self) -> str:
        """Return a number of its own for each form of it."""
        return self.id if self.edited_timestamp is None else f"{self.id}:{self.edited_timestamp}"


class DiscordApplication(_Wire, frozen=True):
    """Application that the commands belong to."""

    id: str


class DiscordReady(_Wire, frozen=True):
    """Begin of a session."""

    user: DiscordUser
    session_id: str
    resume_gateway_url: str
    application: DiscordApplication


class DiscordFile(_Wire, frozen=True):
    """A file of a message."""

    id: str
    url: str
    filename: str = ""
    content_type: str = ""
    size: int = 0


class DiscordSticker(_Wire, frozen=True):
    """Sticker in a message."""

    name: str = ""


class DiscordReference(_Wire, frozen=True):
    """Reference to the answered or forwarded message."""

    kind: int = 0


class DiscordForwarded(_Wire, frozen=True):
    """Text and files of a forwarded message."""

    content: str = ""
    attachments: tuple[DiscordFile, ...] = ()


class DiscordSnapshot(_Wire, frozen=True):
    """Forwarded message as it was."""

    message: DiscordForwarded


class DiscordMessage(_Wire, frozen=True):
    """Message; written by a person if its author is one."""

    id: str
    channel_id: str
    author: DiscordUser
    guild_id: str | None = None
    content: str = ""
    kind: int = 0
    flags: int = 0
    webhook_id: str | None = None
    mentions: tuple[DiscordUser, ...] = ()
    attachments: tuple[DiscordFile, ...] = ()
    sticker_items: tuple[DiscordSticker, ...] = ()
    message_reference: DiscordReference | None = None
    referenced_message: "DiscordMessage | None" = None
    message_snapshots: tuple[DiscordSnapshot, ...] = ()

    @property
    def is_forwarded(self) -> bool:
        return self.message_reference is not None and self.message_reference.kind == _FORWARD

    @property
    def sent_at_s(self) -> float | None:
        """Return the time of the message, which is in its id."""
        return (int(self.id) >> 22) / 1000 + _EPOCH_S if self.id.isdigit() else None


class DiscordPlace(_Wire, frozen=True):
    """Channel of Discord."""

    id: str
    kind: int = 0
    parent_id: str | None = None

    @property
    def thread_of(self) -> str:
        """Return the parent channel; empty if this is no thread."""
        return (self.parent_id or "") if self.kind in _THREADS else ""

    @property
    def is_private(self) -> bool:
        """Return true for a thread that not everybody in its parent channel sees."""
        return self.kind == _PRIVATE_THREAD


class DiscordOption(_Wire, frozen=True):
    """Option that was typed behind a command."""

    name: str
    value: str | int | float | bool | None = None


class DiscordInteractionData(_Wire, frozen=True):
    """Pressed button, or chosen command."""

    custom_id: str = ""
    name: str = ""
    options: tuple[DiscordOption, ...] = ()


class DiscordMember(_Wire, frozen=True):
    """Member of a guild."""

    user: DiscordUser


class DiscordInteraction(_Wire, frozen=True):
    """Button or command; its token is valid for 15 minutes."""

    id: str
    token: str
    kind: int
    channel_id: str = ""
    guild_id: str | None = None
    channel: DiscordPlace | None = None
    data: DiscordInteractionData = DiscordInteractionData()
    user: DiscordUser | None = None
    member: DiscordMember | None = None

    @property
    def person(self) -> DiscordUser | None:
        return self.member.user if self.member is not None else self.user


def read(told: msgspec.Raw, kind: type[Kind]) -> Kind:
    """Decode the value.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(told, type=kind)
