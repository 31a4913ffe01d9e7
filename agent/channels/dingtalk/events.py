"""Messages to the robot: sender, place, and if they call the robot.

A person is known by their id in the robot's organisation; whoever has none there is known by the
one that the platform makes up. Where an answer goes says by itself how it can be sent.
"""

import mimetypes
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from agent.channels.dingtalk.client import text_in
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "dingtalk"
MAX_TEXT_CHARS = 8000
MAX_NAME_CHARS = 64
MAX_ID_CHARS = 200
# In one message; a rich text with more of them is no letter to an agent
MAX_FILES = 10
MAX_CODE_CHARS = 4000
# Where an answer goes: a group, a person, and a chat that is answered only while its hook is good
GROUP, PERSON, CHAT = "group", "user", "chat"
ANY_TYPE = "application/octet-stream"
_PRIVATE, _IN_GROUP = "1", "2"
_NAMES = {"picture": "a picture", "audio": "a voice message", "video": "a video", "file": "a file"}
# Where the server that has a file does not say; a voice message has no other form there
_TYPES = {"picture": "image/jpeg", "audio": "audio/amr", "video": "video/mp4"}

Groups = Literal["mention", "off"]
# A time of the platform; nothing that it says lies further ahead
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class DingTalkMessage(msgspec.Struct, frozen=True, rename="camel"):
    """Message, and the address that takes answers for a while."""

    msg_id: str = ""
    msgtype: str = ""
    conversation_id: str = ""
    conversation_type: str = ""
    sender_id: str = ""
    sender_nick: str = ""
    # Of people of the robot's organisation
    sender_staff_id: str = ""
    sender_corp_id: str = ""
    chatbot_corp_id: str = ""
    chatbot_user_id: str = ""
    is_in_at_list: bool = False
    session_webhook: str = ""
    session_webhook_expired_time: Milliseconds = 0
    create_at: Milliseconds = 0
    # Their shape is that of the kind of message
    text: Any = None
    content: Any = None

    @property
    def is_group(self) -> bool:
        return self.conversation_type != _PRIVATE

    @property
    def hook_lasts_s(self) -> float:
        """Return the lifetime of the webhook, by the platform's clock alone."""
        if self.create_at <= 0:
            return 0.0
        return (self.session_webhook_expired_time - self.create_at) / 1000


class DingTalkFile(Struct, frozen=True):
    """File of a message; `kind` is the platform's word for it."""

    code: str
    kind: str
    name: str = ""

    @property
    def what(self) -> str:
        return _NAMES.get(self.kind, "a file")

    @property
    def is_speech(self) -> bool:
        """True for what was recorded in the chat, and is no file that somebody has."""
        return self.kind == "audio"

    def media_type(self, told: str) -> str:
        """Return the media type; the platform's servers often say nothing about it."""
        kind = printable_line(told, 100).partition(";")[0].strip().lower()
        if kind and kind != ANY_TYPE:
            return kind
        return _TYPES.get(self.kind) or mimetypes.guess_type(self.name)[0] or ANY_TYPE


class DingTalkContent(Struct, frozen=True):
    """Text and files of a message; `is_spoken` if the platform has written it down."""

    text: str = ""
    files: tuple[DingTalkFile, ...] = ()
    is_spoken: bool = False


def read(data: str) -> DingTalkMessage | None:
    """Decode a message; None if it is not as documented."""
    try:
        told = msgspec.json.decode(data)
        if isinstance(told, dict):
            # Whatever there is not is null at times
            told = {name: value for name, value in told.items() if value is not None}
        return msgspec.convert(told, DingTalkMessage, strict=False)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def is_for_us(message: DingTalkMessage, groups: Groups) -> bool:
    """Return true if a person writes to the robot."""
    if not _is_id(message.msg_id) or not _is_id(message.conversation_id):
        return False
    if not message.sender_id or message.sender_id == message.chatbot_user_id:
        return False
    if message.conversation_type == _IN_GROUP:
        return groups == "mention" and message.is_in_at_list
    return message.conversation_type == _PRIVATE


def staff_id(message: DingTalkMessage) -> str:
    """Return the person's id in the robot's organisation; other organisations may use the same."""
    corps = {message.sender_corp_id, message.chatbot_corp_id} - {""}
    known = message.sender_staff_id
    return known if len(corps) < 2 and _is_id(known) else ""  # noqa: PLR2004 - they differ


def target(message: DingTalkMessage) -> str:
    """Return the target of the answer."""
    if message.is_group:
        return f"{GROUP}:{message.conversation_id}"
    known = staff_id(message)
    return f"{PERSON}:{known}" if known else f"{CHAT}:{message.conversation_id}"


def understood(message: DingTalkMessage, content: DingTalkContent, now_s: float) -> Inbound:
    """Convert the message, without its files."""
    return Inbound(
        message_id=message.msg_id,
        channel=NAME,
        sender=staff_id(message) or printable_line(message.sender_id, MAX_ID_CHARS),
        reply_target=target(message),
        text=printable_text(content.text, MAX_TEXT_CHARS).strip(),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=message.is_group,
        sender_name=printable_line(message.sender_nick, MAX_NAME_CHARS),
        sent_at_s=message.create_at / 1000 if message.create_at > 0 else None,
        is_spoken=content.is_spoken,
    )


def content_of(message: DingTalkMessage) -> DingTalkContent:
    kind, content = message.msgtype, message.content
    if kind == "text":
        return DingTalkContent(text_in(message.text, "content"))
    if kind == "richText":
        return _rich(content)
    if kind == "audio" and (said := text_in(content, "recognition")):
        return DingTalkContent(said, is_spoken=True)
    if kind in _NAMES and (file := _file(content, kind)) is not None:
        return DingTalkContent(files=(file,))
    return DingTalkContent(f"[something that cannot be read here: {printable_line(kind, 40)}]")


def _rich(content: object) -> DingTalkContent:
    """Read text with pictures in between."""
    words, files = [], []
    for piece in _pieces(content):
        words.append(text_in(piece, "text"))
        if (file := _file(piece, "picture")) is not None:
            files.append(file)
    return DingTalkContent("".join(words), tuple(files[:MAX_FILES]))


def _pieces(content: object) -> Iterator[object]:
    told = content.get("richText") if isinstance(content, dict) else None
    if isinstance(told, list):
        yield from told


def _file(told: object, kind: str) -> DingTalkFile | None:
    code = text_in(told, "downloadCode")
    if not code or len(code) > MAX_CODE_CHARS:
        return None
    return DingTalkFile(code, kind, printable_line(text_in(told, "fileName"), MAX_NAME_CHARS))


def _is_id(told: str) -> bool:
    return 0 < len(told) <= MAX_ID_CHARS and told.isascii() and told.isprintable()
