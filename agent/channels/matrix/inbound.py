"""A message of Matrix as the rest of the agent knows messages.

Who sent it is the account's id. Edits, reactions and what programs say (`m.notice`) are no
messages; what is answered to is quoted and nobody's order.
"""

import re
from typing import Any, Literal

from msgspec import Struct, field

from agent.channels.matrix.events import MatrixEvent, is_id
from agent.channels.urgency import is_for_everybody, is_urgent
from agent.messages import Inbound, Provenance, Whose
from agent.text.printable import printable_line, printable_text

NAME = "matrix"
# An event is 64 KB at most
MAX_TEXT_CHARS = 65_536
FORWARDED = "[a forwarded message]"
MAX_QUOTED_CHARS = 1000
MAX_NAME_CHARS = 64
# Clocks of servers run on; a time beyond this is no time
_MAX_TIMESTAMP_MS = 2**53
_SOUND = "a sound file"
_FILES = {
    "m.image": "a picture",
    "m.file": "a file",
    "m.audio": _SOUND,
    "m.video": "a video",
}
_VOICE = "a voice message"
# What a program puts beside sound that was recorded in the room (MSC3245)
_VOICE_MARKS = ("org.matrix.msc3245.voice", "m.voice")
_WORDS = frozenset({"m.text", "m.emote"})
_FALLBACK = re.compile(r"\A> <[^\n]*\n(?:>[^\n]*\n)*\n?")

Groups = Literal["mention", "all", "off"]


class MatrixSelf(Struct, frozen=True):
    """The account and its display name."""

    account: str
    name: str

    @property
    def callings(self) -> tuple[str, ...]:
        local = self.account[1:].partition(":")[0]
        # With or without the sign before it
        return tuple(one for one in (self.account[1:], self.name, local) if one)


class MatrixFile(Struct, frozen=True):
    """File of a message; `address` is empty if it cannot be read."""

    what: str
    address: str
    kind: str
    name: str
    # With what it is opened; empty where it lies there as it is
    sealed: dict[str, Any] = field(default_factory=dict)
    is_speech: bool = False


class MatrixContext(Struct, frozen=True):
    """Context of a message in its room.

    Args:
        answered: the event that it answers; None where there is none.
    """

    room: str
    is_group: bool
    sender_name: str
    answered: MatrixEvent | None = None


def is_message(event: MatrixEvent, me: MatrixSelf) -> bool:
    """Return true if another person says something new in it, or stops the agent by an edit."""
    return (
        event.type == "m.room.message"
        and event.sender != me.account
        and (event.relation.kind != "m.replace" or is_urgent(_words(event)))
        and (event.text("msgtype") in _WORDS or event.text("msgtype") in _FILES)
        and all(is_id(one) for one in (event.sender, event.event_id))
    )


def is_sealed(event: MatrixEvent, me: MatrixSelf) -> bool:
    """Return true if another person's message is encrypted."""
    return (
        event.type == "m.room.encrypted"
        and event.sender != me.account
        and all(is_id(one) for one in (event.sender, event.event_id))
    )


def is_for_us(event: MatrixEvent, around: MatrixContext, me: MatrixSelf, groups: Groups) -> bool:
    if not around.is_group or groups == "all":
        return True
    if groups == "off":
        return False
    mentions = event.content.get("m.mentions")
    named = mentions.get("user_ids") if isinstance(mentions, dict) else None
    words = _words(event)
    return (
        (isinstance(named, list) and me.account in named)
        or (around.answered is not None and around.answered.sender == me.account)
        or is_for_everybody(words)
        or _calling(me).search(words) is not None
    )


def understood(event: MatrixEvent, around: MatrixContext, me: MatrixSelf, now_s: float) -> Inbound:
    """Convert the message, without its files."""
    relation, sent_ms = event.relation, event.origin_server_ts
    quoted = _words(around.answered) if around.answered else ""
    text = re.sub(rf"^\s*{_calling(me).pattern}[\s:,]*", "", _words(event), flags=re.IGNORECASE)
    words = printable_text(text, MAX_TEXT_CHARS).strip()
    # Proposed as MSC2723; Element says nothing of the kind
    is_forwarded = "m.forwarded" in event.content
    return Inbound(
        message_id=event.event_id,
        channel=NAME,
        sender=event.sender,
        reply_target=around.room,
        text=FORWARDED if is_forwarded else words,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=(relation.event_id or None) if relation.kind == "m.thread" else None,
        is_group=around.is_group,
        sender_name=printable_line(around.sender_name, MAX_NAME_CHARS).strip(),
        quoted=printable_text(words if is_forwarded else quoted, MAX_QUOTED_CHARS),
        quoted_of=Whose.ANYBODYS if is_forwarded else _whose(around.answered, event.sender, me),
        is_forwarded=is_forwarded,
        sent_at_s=sent_ms / 1000 if 0 < sent_ms < _MAX_TIMESTAMP_MS else None,
    )


def file_of(event: MatrixEvent) -> MatrixFile | None:
    what = _FILES.get(event.text("msgtype"))
    if what is None:
        return None
    info = event.content.get("info")
    kind = info.get("mimetype") if isinstance(info, dict) else None
    known = kind if isinstance(kind, str) and "/" in kind else "application/octet-stream"
    name = event.text("filename") or event.text("body")
    told = event.content.get("file")
    sealed: dict[str, Any] = told if isinstance(told, dict) else {}
    address = sealed.get("url") if sealed else event.text("url")
    there = address if isinstance(address, str) else ""
    is_speech = what == _SOUND and any(mark in event.content for mark in _VOICE_MARKS)
    shown = _VOICE if is_speech else what
    return MatrixFile(shown, there, printable_line(known, 100), name, sealed, is_speech)


def _words(event: MatrixEvent) -> str:
    body = event.text("body")
    if event.relation.kind == "m.replace":
        new = event.content.get("m.new_content")
        told = new.get("body") if isinstance(new, dict) else None
        return told if isinstance(told, str) else ""
    if event.text("msgtype") in _FILES:
        # Without a name beside it, it is the file's name
        return body if event.text("filename") not in {"", body} else ""
    return _FALLBACK.sub("", body) if event.relation.answers else body


def _whose(answered: MatrixEvent | None, sender: str, me: MatrixSelf) -> Whose:
    if answered is None:
        return Whose.ANYBODYS
    if answered.sender == me.account:
        return Whose.AGENTS
    return Whose.SENDERS if answered.sender == sender else Whose.ANYBODYS


def _calling(me: MatrixSelf) -> re.Pattern[str]:
    names = "|".join(re.escape(one) for one in me.callings)
    return re.compile(rf"(?<!\w)@?(?:{names})(?!\w)", re.IGNORECASE)


def membership(content: dict[str, Any]) -> str:
    told = content.get("membership")
    return told if isinstance(told, str) else ""


def replacement(event: MatrixEvent) -> str:
    """Return the room that takes the place of the event's room; empty if none does."""
    # Without the key it is no state, and whoever may write may send it
    if event.type != "m.room.tombstone" or event.state_key != "" or not is_id(event.sender):
        return ""
    room = event.text("replacement_room")
    return room if room.startswith("!") and is_id(room) else ""
