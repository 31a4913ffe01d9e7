"""Events of Slack, as far as they are used."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

# A file's name and address, and what a person can write at once
_Short = Annotated[str, Meta(max_length=4000)]
_Text = Annotated[str, Meta(max_length=100_000)]
MAX_FILES = 10


class SlackEnvelope(msgspec.Struct, frozen=True):
    """Envelope of an event, with the number that acknowledges it."""

    type: _Short
    envelope_id: _Short = ""
    reason: _Short = ""
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class SlackFile(msgspec.Struct, frozen=True):
    """File of a message; `mode` is "hosted" if Slack keeps it."""

    id: _Short = ""
    name: str | None = None
    mimetype: str = ""
    size: int = 0
    mode: str = ""
    subtype: str = ""
    url_private: str = ""
    url_private_download: str = ""


class SlackShared(msgspec.Struct, frozen=True):
    """Attachment of a message; a shared message is one."""

    is_share: Any = False
    text: Any = ""
    fallback: Any = ""


class SlackEdit(msgspec.Struct, frozen=True):
    """Moment of an edit, as Slack numbers it."""

    ts: _Short = ""


class SlackEvent(msgspec.Struct, frozen=True):
    """A message, a mention of the app, or a change of a message, which has both forms of it.

    Args:
        message: the new form, of which only an edit is read: the app's own drafts change as well.
    """

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
    files: list[SlackFile] = []
    attachments: list[SlackShared] | None = None
    edited: SlackEdit | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")
    previous_message: msgspec.Raw = msgspec.Raw(b"null")


class SlackPost(msgspec.Struct, frozen=True):
    """Post to an app without connections of its own, with its number."""

    type: _Short
    event_id: _Short = ""
    challenge: _Short = ""


class SlackEventCall(msgspec.Struct, frozen=True):
    """Payload of an envelope with an event, or body of a post with one."""

    event: SlackEvent


class SlackId(msgspec.Struct, frozen=True):
    """Person or place, of which the id is enough."""

    id: _Short = ""


class SlackAction(msgspec.Struct, frozen=True):
    """Pressed button."""

    action_id: _Short = ""
    value: _Short = ""


class SlackMessage(msgspec.Struct, frozen=True):
    """Message that a button is on."""

    ts: _Short = ""
    thread_ts: str | None = None


class SlackInteraction(msgspec.Struct, frozen=True):
    """Press of a button."""

    type: _Short
    user: SlackId = SlackId()
    channel: SlackId = SlackId()
    message: SlackMessage = SlackMessage()
    actions: list[SlackAction] = []


class SlackCommand(msgspec.Struct, frozen=True):
    """Slash command of the app."""

    command: _Short
    channel_id: _Short
    user_id: _Short
    text: _Text = ""
    trigger_id: _Short = ""
