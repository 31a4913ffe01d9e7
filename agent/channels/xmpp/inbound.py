"""Conversion of XMPP messages.

Who sent it is an address without its resource, which the servers vouch for. What is answered to is
quoted as the sender's program repeats it, and nobody's order.
"""

import hashlib
import re

from msgspec import Struct

from agent.channels.urgency import is_for_everybody, is_urgent
from agent.channels.xmpp.stanzas import XmppMessage
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "xmpp"
MAX_TEXT_CHARS = 65_536
MAX_QUOTED_CHARS = 1000
MAX_NAME_CHARS = 64
_GROUP = "groupchat"
_DIGEST_CHARS = 16


class XmppContext(Struct, frozen=True):
    """Context of a message; `nick` is ours in its room."""

    person: str
    nick: str


def is_new(message: XmppMessage) -> bool:
    """Return true if the message says something new, or corrects another one into a stop."""
    is_said = bool(message.text.strip() or message.file)
    is_talk = message.kind in {"chat", "normal", _GROUP}
    is_own = not message.is_correction or is_urgent(message.text)
    return is_said and is_talk and is_own and not _is_whisper(message)


def is_group(message: XmppMessage) -> bool:
    return message.kind == _GROUP


def is_for_us(message: XmppMessage, nick: str) -> bool:
    """Return true if the message is for us; in a room it must say our name."""
    if not is_group(message):
        return True
    return (
        is_for_everybody(message.text)
        or message.answers == f"{message.bare}/{nick}"
        or _calling(nick).search(message.text) is not None
    )


def understood(message: XmppMessage, around: XmppContext, now_s: float) -> Inbound:
    """Convert the message, without its file."""
    text = "" if message.text.strip() == message.file else message.text
    if is_group(message):
        call = rf"\A\s*{_calling(around.nick).pattern}[\s:,]*"
        text = re.sub(call, "", text, flags=re.IGNORECASE)
    name = message.nick if is_group(message) else message.bare.partition("@")[0]
    return Inbound(
        message_id=id_of(message),
        channel=NAME,
        sender=around.person,
        reply_target=message.bare,
        text=printable_text(text, MAX_TEXT_CHARS).strip(),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=is_group(message),
        sender_name=printable_line(name, MAX_NAME_CHARS).strip(),
        quoted=printable_text(message.quoted, MAX_QUOTED_CHARS),
        sent_at_s=message.sent_at_s,
    )


def id_of(message: XmppMessage) -> str:
    """Return an id with the archive's id and the sender's own.

    A sender's own may come again after a restart of a simple program: without an archive the words
    are a part of it.
    """
    digest = hashlib.sha256(f"{message.sender}\n{message.text}".encode("utf-8", "replace"))
    return f"{message.archived or '-' + digest.hexdigest()[:_DIGEST_CHARS]} {message.known}"


def about(message_id: str, *, in_group: bool) -> str:
    """Return the public id of the message: the sender's in private, the room's in a room."""
    archived, _, known = message_id.partition(" ")
    if in_group:
        return "" if archived.startswith("-") else archived
    return known


def _is_whisper(message: XmppMessage) -> bool:
    """Return true for a private message within a room, whose sender is not known."""
    return message.is_aside and message.kind != _GROUP


def _calling(nick: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)@?{re.escape(nick)}(?!\w)", re.IGNORECASE)
