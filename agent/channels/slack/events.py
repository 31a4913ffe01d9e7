"""Events of Slack, as far as they are used."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

# A file's name and address, and what a person can write at once
_Short = Annotated[str, Meta(max_length=4000)]
_Text = Annotated[str, Meta(max_length=100_000)]
MAX_FILES = 10


class Envelope(msgspec.Struct, frozen=True):
    """One thing that is said, and the number that it is acknowledged by."""

    type: _Short
    envelope_id: _Short = ""
    reason: _Short = ""
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class File(msgspec.Struct, frozen=True):
    """A file of a message; `mode` is "hosted" where Slack keeps it."""

    id: _Short = ""
    name: str | None = None
    mimetype: str = ""
    size: int = 0
    mode: str = ""
    subtype: str = ""
    url_private: str = ""
    url_private_download: str = ""


class Shared(msgspec.Struct, frozen=True):
    """What hangs below a message; a message that somebody passes on is one."""

    is_share: Any = False
    text: Any = ""
    fallback: Any = ""


class Event(msgspec.Struct, frozen=True):
    """A message, or a mention of the app."""

    type: _Short
    channel: Any = ""
    user: Any = ""
    text: str | None = ""
    ts: _Short = ""
    channel_type: _Short = ""
    subtype: str | None = None
    bot_id: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    files: list[File] = []
    attachments: list[Shared] | None = None


class Post(msgspec.Struct, frozen=True):
    """Post to an app without connections of its own, with its number."""

    type: _Short
    event_id: _Short = ""
    challenge: _Short = ""


class EventCall(msgspec.Struct, frozen=True):
    """The payload of an envelope with an event, or all of a post with one."""

    event: Event


class Known(msgspec.Struct, frozen=True):
    """Somebody or some place, of which the id is enough."""

    id: _Short = ""


class Pressed(msgspec.Struct, frozen=True):
    """A button."""

    action_id: _Short = ""
    value: _Short = ""


class Message(msgspec.Struct, frozen=True):
    """The message that a button is on."""

    ts: _Short = ""
    thread_ts: str | None = None


class Interaction(msgspec.Struct, frozen=True):
    """Somebody pressed something."""

    type: _Short
    user: Known = Known()
    channel: Known = Known()
    message: Message = Message()
    actions: list[Pressed] = []


class Command(msgspec.Struct, frozen=True):
    """A slash command of the app."""

    command: _Short
    channel_id: _Short
    user_id: _Short
    text: _Text = ""
    trigger_id: _Short = ""
