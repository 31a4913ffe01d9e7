"""Events of QQ's gateway about messages, and their meaning.

In guilds a person has another id. In private and in groups it is the same, as people report; where
it is not, somebody is a stranger and nobody else.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.channels.urgency import is_for_everybody
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "qq"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
MAX_NAME_CHARS = 128
MAX_QUOTED_CHARS = 2000
# As many as a message holds, and more
MAX_FILES = 10
# What a place is, before its id
USER, GROUP, CHANNEL, DM = "user", "group", "channel", "dm"
Groups = Literal["mention", "off"]
# Of a group whose owner lets the bot hear everything: there it takes the other event's place
_EVERYTHING = "GROUP_MESSAGE_CREATE"
# Events that are messages, and what their place is
KINDS = {
    "C2C_MESSAGE_CREATE": USER,
    "GROUP_AT_MESSAGE_CREATE": GROUP,
    _EVERYTHING: GROUP,
    "AT_MESSAGE_CREATE": CHANNEL,
    "DIRECT_MESSAGE_CREATE": DM,
}
# The kind of a message that answers another; nothing documents it
_ANSWERS = 103
_CALLS: Mapping[str, str] = {"image": "a picture", "audio": "a sound", "video": "a video"}
# In guilds a text comes with these in place of the signs
_SPELLED = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MENTION = re.compile(r"^\s*<@!?([A-Za-z0-9_-]{1,64})>[\s,:]*")
_FACE = re.compile(r"<faceType=[^<>]{1,4000}>")

# They become a part of addresses
Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{0,128}\Z")]
MessageId = Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,256}\Z")]


class QqAuthor(msgspec.Struct, frozen=True):
    """Author of a message; the place decides which ids it has."""

    id: Id = ""
    user_openid: Id = ""
    member_openid: Id = ""
    username: str = ""
    bot: bool = False


class QqFile(msgspec.Struct, frozen=True):
    """A file of a message, by its address."""

    url: str = ""
    content_type: str = ""
    filename: str = ""
    size: int = 0
    # Of what was spoken: a form that others can read, and what the platform has understood
    voice_wav_url: str = ""
    asr_refer_text: str = ""

    @property
    def is_speech(self) -> bool:
        return self.content_type == "voice"

    @property
    def address(self) -> str:
        told = (self.is_speech and self.voice_wav_url) or self.url
        return f"https:{told}" if told.startswith("//") else told

    @property
    def media_type(self) -> str:
        if self.is_speech:
            return "audio/wav" if self.voice_wav_url else "audio/silk"
        kind = printable_line(self.content_type, MAX_NAME_CHARS)
        return kind if "/" in kind else "application/octet-stream"

    @property
    def called(self) -> str:
        """Name for a person."""
        if self.is_speech:
            return "a voice message"
        return _CALLS.get(self.content_type.partition("/")[0], "a file")


class QqMention(msgspec.Struct, frozen=True):
    """Somebody who is called, as it is told where everything is."""

    id: str = ""
    is_you: bool | None = None


class QqElement(msgspec.Struct, frozen=True):
    """Message inside another one, such as the answered one."""

    content: str = ""


class QqMessage(msgspec.Struct, frozen=True):
    """Message to the bot."""

    id: MessageId
    author: QqAuthor = QqAuthor()
    content: str = ""
    timestamp: str = ""
    group_openid: Id = ""
    channel_id: Id = ""
    guild_id: Id = ""
    attachments: tuple[QqFile, ...] = ()
    message_type: int = 0
    msg_elements: tuple[QqElement, ...] = ()
    mentions: tuple[QqMention, ...] | None = None

    @property
    def our_ids(self) -> frozenset[str]:
        """Return the ids by which it calls the bot; empty also where they are not told."""
        return frozenset(one.id for one in self.mentions or () if one.is_you)


class QqUser(msgspec.Struct, frozen=True):
    """The bot itself."""

    id: Id = ""


class QqReady(msgspec.Struct, frozen=True):
    """Begin of a session."""

    session_id: str
    user: QqUser = QqUser()


def kind_of(place: str) -> str:
    """Return the kind of a place: one of USER, GROUP, CHANNEL, DM."""
    return place.partition(":")[0]


def files_of(message: QqMessage) -> tuple[QqFile, ...]:
    return tuple(file for file in message.attachments if file.url)[:MAX_FILES]


def is_for_us(event: str, message: QqMessage) -> bool:
    """Return true if the message calls the bot, or stops it; most events come of no other."""
    return event != _EVERYTHING or bool(message.our_ids) or is_for_everybody(message.content)


def understood(message: QqMessage, kind: str, now_s: float) -> Inbound | None:
    """Convert the message; None if no person wrote it."""
    author = message.author
    sender = {USER: author.user_openid, GROUP: author.member_openid}.get(kind) or author.id
    at = {USER: sender, GROUP: message.group_openid, CHANNEL: message.channel_id}
    place = at.get(kind, message.guild_id)
    if not sender or not place or author.bot:
        return None
    return Inbound(
        message_id=message.id,
        channel=NAME,
        sender=sender,
        reply_target=f"{kind}:{place}",
        text=_words(message, kind),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=kind in {GROUP, CHANNEL},
        sender_name=printable_line(author.username, MAX_NAME_CHARS).strip(),
        quoted=_quoted(message),
        sent_at_s=_time(message.timestamp),
    )


def _words(message: QqMessage, kind: str) -> str:
    raw = message.content[: 2 * MAX_TEXT_CHARS]
    called = _MENTION.match(raw) if kind in {GROUP, CHANNEL} else None
    if called is not None and (not message.our_ids or called[1] in message.our_ids):
        raw = raw[called.end() :]
    raw = _FACE.sub("[an emoticon]", raw)
    if kind in {CHANNEL, DM}:
        for spelled, sign in _SPELLED:
            raw = raw.replace(spelled, sign)
    text = printable_text(raw, MAX_TEXT_CHARS).strip()
    return text if text or files_of(message) else "[something that cannot be read here]"


def _quoted(message: QqMessage) -> str:
    """Return the answered message, whoever wrote it; the platform does not always send it."""
    if message.message_type != _ANSWERS or not message.msg_elements:
        return ""
    return printable_text(message.msg_elements[0].content, MAX_QUOTED_CHARS).strip()


def _time(told: str) -> float | None:
    try:
        return datetime.fromisoformat(told).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
