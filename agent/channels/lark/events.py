"""Events of Lark, and their meaning: sender, text, and if they call us.

A person is known by their open id, which is the same for as long as the app is. Content is JSON in
a string, of many kinds; what cannot be shown here is named.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from agent.channels.lark.client import text_in
from agent.channels.urgency import is_for_everybody
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "lark"
MESSAGE, PRESSED = "im.message.receive_v1", "card.action.trigger"
# As of any message of a person: what is longer is not read, and its sender is told so
MAX_TEXT_CHARS = 64 * 1024 + 1
MAX_NAME_CHARS = 64
MAX_ID_CHARS = 100
# In one message; a rich text with more of them is no letter to an agent
MAX_FILES = 10
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_NAMES = {"image": "a picture", "audio": "a voice message", "media": "a video", "file": "a file"}

Groups = Literal["mention", "all", "off"]


class LarkEventHeader(msgspec.Struct, frozen=True):
    """Header of an event: its id and kind."""

    event_id: str = ""
    event_type: str = ""


class LarkIds(msgspec.Struct, frozen=True):
    """Ids of a person, or of the app."""

    open_id: str = ""


class LarkEventSender(msgspec.Struct, frozen=True):
    """Sender of a message."""

    sender_id: LarkIds = LarkIds()
    # An app's words are no person's
    sender_type: str = ""


class LarkMention(msgspec.Struct, frozen=True):
    """Mention of somebody, which stands in the text as `key`."""

    key: str = ""
    id: LarkIds = LarkIds()
    name: str = ""


class LarkMessage(msgspec.Struct, frozen=True):
    """Message, with its place."""

    message_id: str = ""
    root_id: str = ""
    thread_id: str = ""
    create_time: str | int = ""
    chat_id: str = ""
    chat_type: str = ""
    message_type: str = ""
    content: str = ""
    mentions: tuple[LarkMention, ...] | None = ()


class LarkAction(msgspec.Struct, frozen=True):
    """Action of a button."""

    # Of one's own making: whatever stood in a card
    value: Any = None


class LarkContext(msgspec.Struct, frozen=True):
    """Message that a pressed button is on."""

    open_message_id: str = ""
    open_chat_id: str = ""


class LarkEventBody(msgspec.Struct, frozen=True):
    """Event: a message, or a press of a button."""

    sender: LarkEventSender = LarkEventSender()
    message: LarkMessage = LarkMessage()
    operator: LarkIds = LarkIds()
    action: LarkAction = LarkAction()
    context: LarkContext = LarkContext()


class LarkEvent(msgspec.Struct, frozen=True):
    """Whole event."""

    header: LarkEventHeader = LarkEventHeader()
    event: LarkEventBody = LarkEventBody()


class LarkFile(Struct, frozen=True):
    """File of a message; `kind` is the platform's word for it."""

    key: str
    kind: str
    name: str = ""

    @property
    def what(self) -> str:
        return _NAMES.get(self.kind, "a file")

    @property
    def is_speech(self) -> bool:
        """True for what was recorded in the chat, and is no file that somebody has."""
        return self.kind == "audio"


class LarkContent(Struct, frozen=True):
    """Text and files of a message."""

    text: str = ""
    files: tuple[LarkFile, ...] = ()


def read(payload: bytes) -> LarkEvent | None:
    try:
        return msgspec.json.decode(payload, type=LarkEvent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def is_for_us(event: LarkEventBody, me: str, groups: Groups) -> bool:
    """Return true if a person writes to the app."""
    message = event.message
    if event.sender.sender_type != "user" or not event.sender.sender_id.open_id:
        return False
    if not _KEY.fullmatch(message.message_id) or not _KEY.fullmatch(message.chat_id):
        return False
    if message.chat_type == "p2p" or groups == "all":
        return True
    calls = any(one.id.open_id == me for one in message.mentions or ())
    return groups == "mention" and (calls or is_for_everybody(content_of(message).text))


def understood(event: LarkEventBody, content: LarkContent, me: str, now_s: float) -> Inbound:
    """Convert the message, without its files."""
    message = event.message
    # A thread is answered by answering the message that it hangs on
    root = message.root_id if _KEY.fullmatch(message.root_id) else message.message_id
    return Inbound(
        message_id=message.message_id,
        channel=NAME,
        sender=printable_line(event.sender.sender_id.open_id, MAX_ID_CHARS),
        reply_target=message.chat_id,
        text=_named(content.text, message.mentions or (), me),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=root if message.thread_id else None,
        is_group=message.chat_type != "p2p",
        sent_at_s=_time(message.create_time),
        is_forwarded=message.message_type == "merge_forward",
    )


def content_of(message: LarkMessage) -> LarkContent:
    told = _object(message.content)
    kind = message.message_type
    if kind == "text":
        return LarkContent(text_in(told, "text"))
    if kind == "post":
        return _post(told)
    key = text_in(told, "image_key" if kind == "image" else "file_key")
    if kind in _NAMES and _KEY.fullmatch(key):
        name = printable_line(text_in(told, "file_name"), MAX_NAME_CHARS)
        return LarkContent(files=(LarkFile(key, kind, name),))
    return LarkContent(f"[something that cannot be read here: {printable_line(kind, 40)}]")


def _post(told: dict[str, Any]) -> LarkContent:
    """Read a rich text: a title, and paragraphs of pieces."""
    lines, files = [text_in(told, "title")], []
    for paragraph in _lists(told.get("content")):
        words = []
        for piece in paragraph:
            # A film has the key of the picture that it is shown by, too
            film = text_in(piece, "file_key")
            key = film or text_in(piece, "image_key")
            if _KEY.fullmatch(key):
                files.append(LarkFile(key, "media" if film else "image"))
            words.append(_words(piece))
        lines.append("".join(words))
    return LarkContent("\n".join(line for line in lines if line), tuple(files[:MAX_FILES]))


def _words(piece: object) -> str:
    # Somebody who is mentioned stands there by the key of the mention
    text = text_in(piece, "text") or text_in(piece, "user_id")
    leads_to = text_in(piece, "href")
    return f"{text} ({leads_to})" if leads_to not in {"", text} else text


def _lists(told: object) -> Iterator[list[object]]:
    if isinstance(told, list):
        yield from (one for one in told if isinstance(one, list))


def _named(text: str, mentions: tuple[LarkMention, ...], me: str) -> str:
    names = {
        one.key: "" if one.id.open_id == me else f"@{printable_line(one.name, MAX_NAME_CHARS)}"
        for one in mentions
        if one.key
    }
    if names:
        # The longest first: @_user_1 begins @_user_10
        keys = sorted(map(re.escape, names), key=len, reverse=True)
        text = re.sub("|".join(keys), lambda found: names[found[0]], text[: 4 * MAX_TEXT_CHARS])
    return printable_text(text, MAX_TEXT_CHARS).strip()


def _object(raw: str) -> dict[str, Any]:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _time(raw: str | int) -> float | None:
    told = str(raw)
    is_number = told.isascii() and told.isdigit() and len(told) < 15  # noqa: PLR2004 - no huge ints
    return int(told) / 1000 if is_number else None
