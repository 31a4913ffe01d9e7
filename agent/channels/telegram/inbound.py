"""Conversion of Telegram messages.

Who sent it is the platform's number, never a name. What was forwarded, was written by another bot
for them to send, or is answered to is quoted: it is nobody's order. What a group, a channel or a
bot says is not a person's at all.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.telegram.events import TelegramFile, TelegramMessage
from agent.channels.telegram.mention import (
    TelegramSelf,
    is_addressed,
    is_for_another,
    without_calling,
)
from agent.channels.urgency import is_urgent
from agent.messages import Inbound, Provenance, Whose
from agent.text.printable import printable_line, printable_text

NAME = "telegram"
# The longest text that Telegram delivers is a quarter of it
MAX_TEXT_CHARS = 16_384
# Enough to know what is meant; the rest is where it was
MAX_QUOTED_CHARS = 1000
MAX_NAME_CHARS = 64
FORWARDED = "[a forwarded message]"
EDITED = (
    "You have edited a message that I had read already. I go by what it said first: shall I do "
    "what it says now? Then please write it as a new message."
)
SHOWN = "[a contact, as it is quoted above]"

Groups = Literal["mention", "all", "off"]


class TelegramAttachment(Struct, frozen=True):
    """File of a message, not fetched yet.

    Args:
        what: said where it cannot be had.
    """

    what: str
    file: TelegramFile
    media_type: str
    is_speech: bool = False


def is_for_us(message: TelegramMessage, me: TelegramSelf, groups: Groups) -> bool:
    """Return true if a person writes to the bot."""
    person = message.from_
    # Where a business account has lent the bot, people write to the account's owner
    is_lent = bool(message.business_connection_id)
    if person is None or person.is_bot or message.sender_chat is not None or is_lent:
        return False
    if message.is_automatic_forward or message.migrate_to_chat_id is not None:
        return False
    if message.chat.is_private:
        return True
    if message.chat.kind not in {"group", "supergroup"} or groups == "off":
        return False
    if is_for_another(message, me):
        return False
    return groups == "all" or is_addressed(message, me)


def understood(message: TelegramMessage, me: TelegramSelf, now_s: float) -> Inbound:
    """Convert the message, without its files; `is_for_us` returned true."""
    person = message.from_
    assert person is not None
    is_forwarded = message.is_of_another
    words, card = _words(message, me), _card(message)
    return Inbound(
        message_id=f"{me.series}{id_of(message)}",
        channel=NAME,
        sender=str(person.id),
        reply_target=str(message.chat.id),
        text=FORWARDED if is_forwarded else words or _shown(card),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=message.thread,
        is_group=not message.chat.is_private,
        sender_name=printable_line(
            f"{person.first_name} {person.last_name}", MAX_NAME_CHARS
        ).strip(),
        quoted="\n".join(filter(None, (card, words if is_forwarded else _answered(message, me)))),
        sent_at_s=float(message.date) if message.date > 0 else None,
        is_forwarded=is_forwarded,
        quoted_of=Whose.ANYBODYS if is_forwarded or card else _whose(message, me),
    )


def together(parts: Sequence[Inbound]) -> Inbound:
    """Return the parts of an album as one message, with the captions of all."""
    first = parts[0]
    if len(parts) == 1:
        return first
    is_forwarded = any(one.is_forwarded for one in parts)
    # All answer the same message, and what was passed on says so once
    texts = (
        dict.fromkeys(one.text for one in parts) if is_forwarded else [one.text for one in parts]
    )
    quoted = "\n".join(filter(None, dict.fromkeys(one.quoted for one in parts)))
    return replace(
        first,
        text="\n".join(filter(None, texts)),
        quoted=printable_text(quoted, MAX_QUOTED_CHARS),
        quoted_of=first.quoted_of if quoted == first.quoted else Whose.ANYBODYS,
        is_forwarded=is_forwarded,
    )


def id_of(message: TelegramMessage) -> str:
    """Return an id with the chat, since Telegram numbers messages by chat."""
    return f"{message.chat.id}:{message.message_id}"


def number_of(message_id: str) -> int | None:
    """Return the platform's number in an id of ours; None if there is none."""
    number = message_id.rpartition(":")[2]
    return int(number) if number.isdigit() else None


def files_of(message: TelegramMessage) -> Iterator[TelegramAttachment]:
    """Yield the files of the message."""
    if message.photo:
        yield TelegramAttachment(
            "a picture", max(message.photo, key=lambda size: size.file_size), "image/jpeg"
        )
    # An animation is sent as a document too
    if message.document is not None and message.animation is None:
        yield _sent("a file", message.document, "application/octet-stream")
    kinds = (
        ("a voice message", message.voice, "audio/ogg"),
        ("a piece of music", message.audio, "audio/mpeg"),
        ("a video", message.video or message.video_note, "video/mp4"),
        ("an animation", message.animation, "video/mp4"),
    )
    for what, file, media_type in kinds:
        if file is not None:
            yield _sent(what, file, media_type, is_speech=file is message.voice)


def _sent(
    what: str, file: TelegramFile, media_type: str, *, is_speech: bool = False
) -> TelegramAttachment:
    told = printable_line(file.mime_type, MAX_NAME_CHARS)
    return TelegramAttachment(what, file, told if "/" in told else media_type, is_speech)


def _words(message: TelegramMessage, me: TelegramSelf) -> str:
    text = printable_text(message.words, MAX_TEXT_CHARS)
    if text:
        return _started(without_calling(text, me))
    return "\n".join(_unwritten(message))


def _started(text: str) -> str:
    """Return the text for a person who opened the bot, or followed a link with a code."""
    first, _, rest = text.partition(" ")
    if first != "/start":
        return text
    return f"/pair {rest.strip()}" if rest.strip() else "/help"


def _unwritten(message: TelegramMessage) -> Iterator[str]:
    """Return words for a message without text, such as a place; nothing is dropped."""
    if message.sticker is not None:
        yield f"[a sticker: {printable_line(message.sticker.emoji, 8) or 'without a meaning'}]"
    elif (kind := _kind(message)) is not None:
        yield f"[{kind}]"
    elif message.location is not None:
        yield f"[a place: {message.location.latitude:.5f}, {message.location.longitude:.5f}]"
    elif message.contact is None and not any(True for _ in files_of(message)):
        yield "[something that cannot be read here]"


def _kind(message: TelegramMessage) -> str | None:
    """Return what a message is that says nothing to the agent."""
    # A venue has a place as well, which tells more; its name is anybody's words
    kinds = (("a poll", message.poll), ("a thrown die", message.dice), ("a story", message.story))
    return next((kind for kind, content in kinds if content is not None), None)


def edited(message: TelegramMessage, me: TelegramSelf, now_s: float) -> Inbound:
    """Convert an edit: nothing of it is an order but a stop, and its writer is told so."""
    inbound = understood(message, me, now_s)
    number = f"{inbound.message_id}:edited-{message.edit_date}"
    # However old the message is, this was written now
    inbound = replace(inbound, message_id=number, sent_at_s=float(message.edit_date))
    if is_urgent(message.words):
        return inbound
    return replace(inbound, text="", quoted="", notes=(EDITED,))


def _card(message: TelegramMessage) -> str:
    """Return a shared contact, whose name the sender did not write."""
    told = message.contact
    if told is None:
        return ""
    name = _name(told.first_name, told.last_name)
    return f"[a contact: {name} {printable_line(told.phone_number, MAX_NAME_CHARS)}]"


def _shown(card: str) -> str:
    return SHOWN if card else ""


def _answered(message: TelegramMessage, me: TelegramSelf) -> str:
    """Return the answered message, or the words of it that were picked.

    The bot's own words are in the conversation already, and quoting them would only make the
    answer to them worth less.
    """
    answered = message.reply_to_message
    picked = message.quote.text if message.quote is not None else ""
    is_own = answered is not None and answered.from_ is not None and answered.from_.id == me.id
    words = answered.words if answered is not None and not is_own else ""
    return printable_text(picked or words, MAX_QUOTED_CHARS)


def _whose(message: TelegramMessage, me: TelegramSelf) -> Whose:
    """Return the writer; forwarded messages and those by bots are not the sender's."""
    answered, person = message.reply_to_message, message.from_
    if answered is None or answered.from_ is None or person is None:
        return Whose.ANYBODYS
    if answered.forward_origin is not None or answered.via_bot is not None:
        return Whose.ANYBODYS
    if answered.from_.id == me.id:
        return Whose.AGENTS
    is_own = answered.from_.id == person.id and answered.sender_chat is None
    return Whose.SENDERS if is_own else Whose.ANYBODYS


def _name(first: str, last: str) -> str:
    return printable_line(f"{first} {last}", MAX_NAME_CHARS).strip()
