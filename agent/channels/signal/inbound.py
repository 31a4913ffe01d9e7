"""Conversion of Signal messages.

Who sent it is the account's id, never a name or a number that may change hands. What is answered
to is quoted: it is nobody's order. Reactions, receipts and deletions are no messages, and of edits
only one that stops the agent is.
"""

from collections.abc import Iterable
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.signal.events import (
    SignalDataMessage,
    SignalEnvelope,
    SignalEvent,
    SignalFile,
    SignalMention,
    SignalQuote,
)
from agent.channels.signal.ids import id_of, target_of
from agent.channels.urgency import is_for_everybody, is_urgent
from agent.messages import Inbound, Provenance, Whose
from agent.text.printable import printable_line, printable_text

NAME = "signal"
# A text in a message is at most 2,000 bytes long; a longer one comes as a file that is put in
MAX_TEXT_CHARS = 65_536
# Enough to know what is meant; the rest is where it was
MAX_QUOTED_CHARS = 1000
MAX_NAME_CHARS = 64
VIEW_ONCE = (
    "You have sent something to be viewed once. I keep what I look at, so I did not fetch it: "
    "please send it as an ordinary file."
)
# As many people as are named in one message; more is an attack
MAX_MENTIONS = 100
# A group's id is 32 bytes in Base64; a longer one is none
MAX_GROUP_ID_CHARS = 64
# Clocks of phones run on; a time beyond this is no time
_MAX_TIMESTAMP_MS = 2**53

Groups = Literal["mention", "all", "off"]


class SignalSelf:
    """Our account, by number and id."""

    def __init__(self, *names: str) -> None:
        self._names: set[str] = set()
        self.learn(*names)

    def learn(self, *names: str | None) -> None:
        self._names |= {name.lower() for name in names if name}

    def is_one_of(self, *names: str | None) -> bool:
        return any(name is not None and name.lower() in self._names for name in names)


class SignalInbound(Struct, frozen=True):
    """Converted message, and what is left to decide about it."""

    inbound: Inbound
    files: tuple[SignalFile, ...]
    is_addressed: bool

    def is_for_us(self, groups: Groups) -> bool:
        if not self.inbound.is_group:
            return True
        is_meant = self.is_addressed or is_for_everybody(self.inbound.text)
        return groups == "all" or (groups == "mention" and is_meant)


def understood(
    arrival: SignalEvent, me: SignalSelf, now_s: float, *, note_to_self: bool
) -> SignalInbound | None:
    """Convert the message, without its files; None if nobody speaks to the agent."""
    envelope = arrival.envelope
    if envelope is None:
        return None
    me.learn(arrival.account)
    message = _message(envelope, me, note_to_self=note_to_self)
    sender = _account_id(envelope.source_uuid)
    if message is None or not sender or not 0 < message.timestamp < _MAX_TIMESTAMP_MS:
        return None
    if len(message.group_id) > MAX_GROUP_ID_CHARS or not message.group_id.isascii():
        return None
    text = _text(message, me)
    files = tuple(file for file in message.attachments or () if file.id)
    if envelope.edit_message is not None and not is_urgent(text):
        return None
    if not text and not files:
        return None
    notes = (VIEW_ONCE,) if files and message.view_once else ()
    mentions = message.mentions or ()
    quote = message.quote
    is_addressed = any(me.is_one_of(one.number, one.uuid) for one in mentions[:MAX_MENTIONS]) or (
        quote is not None and me.is_one_of(quote.author_number, quote.author_uuid)
    )
    inbound = _inbound(envelope, message, sender, text, now_s)
    inbound = replace(inbound, quoted_of=_whose(quote, sender, me), notes=notes)
    return SignalInbound(inbound, () if notes else files, is_addressed)


def sender_in_words(arrival: SignalEvent) -> str:
    """Return the sender for a log line."""
    envelope = arrival.envelope or SignalEnvelope()
    name = envelope.source_name or envelope.source_number or envelope.source_uuid or ""
    return printable_line(name, MAX_NAME_CHARS).strip() or "somebody unknown"


def _message(
    envelope: SignalEnvelope, me: SignalSelf, *, note_to_self: bool
) -> SignalDataMessage | None:
    edit = envelope.edit_message
    message = envelope.data_message if edit is None else edit.data_message
    if envelope.sync_message is not None:
        # The account's own words on another device: for others, but for its notes to itself
        me.learn(envelope.source_number, envelope.source_uuid)
        sent = envelope.sync_message.sent_message
        is_note = sent is not None and me.is_one_of(sent.destination_uuid, sent.destination_number)
        message = sent if note_to_self and is_note else None
    elif me.is_one_of(envelope.source_uuid, envelope.source_number):
        return None
    if message is None or message.reaction is not None or message.remote_delete is not None:
        return None
    # What is said to a story is said about something that was never shown here
    return None if message.story_context is not None else message


def _inbound(
    envelope: SignalEnvelope, message: SignalDataMessage, sender: str, text: str, now_s: float
) -> Inbound:
    sent_ms = envelope.server_received_timestamp or message.timestamp
    quoted = message.quote.text if message.quote is not None else ""
    return Inbound(
        message_id=id_of(sender, message.timestamp),
        channel=NAME,
        sender=sender,
        reply_target=target_of(message.group_id, sender),
        text=text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=bool(message.group_id),
        sender_name=printable_line(envelope.source_name or "", MAX_NAME_CHARS).strip(),
        quoted=printable_text(quoted or "", MAX_QUOTED_CHARS),
        sent_at_s=sent_ms / 1000 if 0 < sent_ms < _MAX_TIMESTAMP_MS else None,
    )


def _whose(quote: SignalQuote | None, sender: str, me: SignalSelf) -> Whose:
    """Return the writer; in notes to oneself the agent has the same account."""
    if quote is None:
        return Whose.ANYBODYS
    if me.is_one_of(quote.author_number, quote.author_uuid):
        return Whose.AGENTS
    return Whose.SENDERS if _account_id(quote.author_uuid) == sender else Whose.ANYBODYS


def _account_id(uuid: str | None) -> str:
    """Return the id in its normal form; empty if it is none."""
    try:
        return str(UUID(uuid or ""))
    except ValueError:
        return ""


def _text(message: SignalDataMessage, me: SignalSelf) -> str:
    words = with_names(message.message or "", message.mentions or (), me)
    text = printable_text(words, MAX_TEXT_CHARS).strip()
    if text or message.attachments:
        return text
    if message.sticker is not None:
        meaning = printable_line(message.sticker.emoji or "", 8)
        return f"[a sticker: {meaning or 'without a meaning'}]"
    return "[a contact]" if message.contacts else ""


def with_names(text: str, mentions: Iterable[SignalMention], me: SignalSelf) -> str:
    """Return the text with a name for each mention; the agent's is left out."""
    units = text.encode("utf-16-le", "surrogatepass")
    pieces: list[bytes] = []
    at = 0
    for one in sorted(tuple(mentions)[:MAX_MENTIONS], key=lambda mention: mention.start):
        end = one.start + one.length
        if one.start < at or one.length <= 0 or 2 * end > len(units):
            continue
        name = "" if me.is_one_of(one.number, one.uuid) else f"@{one.number or one.uuid or '?'}"
        pieces += [units[2 * at : 2 * one.start], name.encode("utf-16-le", "replace")]
        at = end
    pieces.append(units[2 * at :])
    joined = b"".join(pieces).decode("utf-16-le", "replace")
    return joined.lstrip(" ,:") if at else joined
