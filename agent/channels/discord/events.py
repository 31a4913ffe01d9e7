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
# Discord's first second: the upper bits of its ids are milliseconds from there
_EPOCH_S = 1_420_070_400

Kind = TypeVar("Kind", bound="_Wire")


class _Wire(msgspec.Struct, frozen=True, rename={"kind": "type"}):
    """Fields that are not named here are passed over."""


class User(_Wire, frozen=True):
    """A person, or a bot."""

    id: str
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False


class Numbered(_Wire, frozen=True):
    """Anything that has a number."""

    id: str


class Application(_Wire, frozen=True):
    """Application that the commands belong to."""

    id: str


class Ready(_Wire, frozen=True):
    """A session has begun."""

    user: User
    session_id: str
    resume_gateway_url: str
    application: Application


class File(_Wire, frozen=True):
    """A file of a message."""

    id: str
    url: str
    filename: str = ""
    content_type: str = ""
    size: int = 0


class Sticker(_Wire, frozen=True):
    """A picture that stands for a word."""

    name: str = ""


class Reference(_Wire, frozen=True):
    """The message that one answers, or passes on."""

    kind: int = 0


class Passed(_Wire, frozen=True):
    """The words and files of a message that is passed on."""

    content: str = ""
    attachments: tuple[File, ...] = ()


class Snapshot(_Wire, frozen=True):
    """A message as it was when it was passed on."""

    message: Passed


class Message(_Wire, frozen=True):
    """Of a person, where its author is one."""

    id: str
    channel_id: str
    author: User
    guild_id: str | None = None
    content: str = ""
    kind: int = 0
    flags: int = 0
    webhook_id: str | None = None
    mentions: tuple[User, ...] = ()
    attachments: tuple[File, ...] = ()
    sticker_items: tuple[Sticker, ...] = ()
    message_reference: Reference | None = None
    referenced_message: "Message | None" = None
    message_snapshots: tuple[Snapshot, ...] = ()

    @property
    def is_forwarded(self) -> bool:
        return self.message_reference is not None and self.message_reference.kind == _FORWARD

    @property
    def sent_at_s(self) -> float | None:
        """By its id."""
        return (int(self.id) >> 22) / 1000 + _EPOCH_S if self.id.isdigit() else None


class Channel(_Wire, frozen=True):
    """A place where messages are."""

    id: str
    kind: int = 0
    parent_id: str | None = None

    @property
    def thread_of(self) -> str:
        """The channel that it is a thread of; empty where it is none."""
        return (self.parent_id or "") if self.kind in _THREADS else ""


class Option(_Wire, frozen=True):
    """Option that was typed behind a command."""

    name: str
    value: str | int | float | bool | None = None


class Data(_Wire, frozen=True):
    """The button that was pressed, or the command that was chosen."""

    custom_id: str = ""
    name: str = ""
    options: tuple[Option, ...] = ()


class Member(_Wire, frozen=True):
    """Somebody in a guild."""

    user: User


class Interaction(_Wire, frozen=True):
    """A button or a command; its token lets us answer for a quarter of an hour."""

    id: str
    token: str
    kind: int
    channel_id: str = ""
    guild_id: str | None = None
    channel: Channel | None = None
    data: Data = Data()
    user: User | None = None
    member: Member | None = None

    @property
    def person(self) -> User | None:
        return self.member.user if self.member is not None else self.user


def read(told: msgspec.Raw, kind: type[Kind]) -> Kind:
    """The value.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(told, type=kind)
