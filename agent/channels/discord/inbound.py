"""Conversion of Discord messages and commands.

Who sent it is the platform's number, never a name. What was passed on or is answered to is quoted:
it is nobody's order. What a bot or a webhook says is not a person's at all.
"""

import re
from collections.abc import Iterator
from typing import Literal

from agent.channels.discord.events import (
    WRITTEN,
    DiscordFile,
    DiscordInteraction,
    DiscordMessage,
    DiscordUser,
)
from agent.channels.urgency import is_for_everybody
from agent.messages import Inbound, Provenance, Whose
from agent.text.printable import printable_line, printable_text

NAME = "discord"
# Who pays may write 4000
MAX_TEXT_CHARS = 8000
# Enough to know what is meant; the rest is where it was
MAX_QUOTED_CHARS = 1000
MAX_NAME_CHARS = 64
FORWARDED = "[a forwarded message]"
SHOWN = "[a sticker, as it is quoted above]"
HIDDEN = (
    "Discord shows me what an answer says only if it calls me: leave the @ beside your answer on, "
    "or write my name with an @ in it."
)
_MENTION = re.compile(r"<@!?([0-9]{1,20})>")

Groups = Literal["mention", "all", "off"]


def is_for_us(message: DiscordMessage, me: str, groups: Groups) -> bool:
    """Return true if a person writes to the bot."""
    author = message.author
    if author.bot or author.system or message.webhook_id is not None or author.id == me:
        return False
    if message.kind not in WRITTEN:
        return False
    if message.guild_id is None:
        return True
    # A mention, an answer to what the bot has said, or what stops it
    calls = any(one.id == me for one in message.mentions) or _answers(message, me)
    calls = calls or is_for_everybody(words_of(message, me))
    return groups == "all" or (groups == "mention" and calls)


def understood(message: DiscordMessage, me: str, thread_of: str, now_s: float) -> Inbound:
    """Convert the message, without its files.

    Args:
        thread_of: the channel that it stands in a thread of; empty where it stands in none.
    """
    is_hidden = _is_hidden(message, me)
    words = "" if is_hidden else words_of(message, me)
    return Inbound(
        message_id=message.id,
        channel=NAME,
        sender=message.author.id,
        reply_target=thread_of or message.channel_id,
        text=FORWARDED if message.is_forwarded else words,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=message.channel_id if thread_of else None,
        is_group=message.guild_id is not None,
        sender_name=name_of(message.author),
        quoted="\n".join(
            filter(None, (_shown(message), _passed_on(message) or _answered(message, me)))
        ),
        sent_at_s=message.sent_at_s,
        notes=(HIDDEN,) if is_hidden else (),
        is_forwarded=message.is_forwarded,
        quoted_of=_whose(message, me),
    )


def commanded(told: DiscordInteraction, person: DiscordUser, now_s: float) -> Inbound:
    """Convert a chosen command into typed text."""
    typed = " ".join(str(option.value) for option in told.data.options if option.value is not None)
    thread_of = told.channel.thread_of if told.channel is not None else ""
    return Inbound(
        message_id=told.id,
        channel=NAME,
        sender=person.id,
        reply_target=thread_of or told.channel_id,
        text=printable_text(f"/{told.data.name} {typed}", MAX_TEXT_CHARS).strip(),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=told.channel_id if thread_of else None,
        is_group=told.guild_id is not None,
        sender_name=name_of(person),
    )


def files_of(message: DiscordMessage) -> Iterator[DiscordFile]:
    """Yield the files of the message, or of the one that it forwards."""
    yield from message.attachments
    for one in message.message_snapshots:
        yield from one.message.attachments


def name_of(person: DiscordUser) -> str:
    return printable_line(person.global_name or person.username, MAX_NAME_CHARS).strip()


def words_of(message: DiscordMessage, me: str) -> str:
    """Return the words of the message without the bot's mention."""
    names = {one.id: name_of(one) for one in message.mentions}

    def named(found: re.Match[str]) -> str:
        return f"@{names[found[1]]}" if found[1] in names else found[0]

    raw = re.sub(rf"^\s*<@!?{re.escape(me)}>[\s,:]*", "", message.content)
    text = printable_text(_MENTION.sub(named, raw), MAX_TEXT_CHARS).strip()
    if text or any(True for _ in files_of(message)):
        return text
    return SHOWN if message.sticker_items else "[something that cannot be read here]"


def _shown(message: DiscordMessage) -> str:
    """Return the stickers by the names that whoever made them gave them."""
    names = (printable_line(one.name, MAX_NAME_CHARS) for one in message.sticker_items)
    return "\n".join(f"[a sticker: {name or 'without a meaning'}]" for name in names)


def _passed_on(message: DiscordMessage) -> str:
    words = "\n".join(one.message.content for one in message.message_snapshots)
    return printable_text(words, MAX_TEXT_CHARS)


def _answered(message: DiscordMessage, me: str) -> str:
    """Return the answered message; our own words are known already."""
    answered = message.referenced_message
    if answered is None or answered.author.id == me:
        return ""
    return printable_text(answered.content, MAX_QUOTED_CHARS)


def _answers(message: DiscordMessage, me: str) -> bool:
    answered = message.referenced_message
    return answered is not None and answered.author.id == me and answered.webhook_id is None


def _is_hidden(message: DiscordMessage, me: str) -> bool:
    """Return true for an answer that does not call us, of which the platform tells no word."""
    is_empty = not (
        message.content or message.sticker_items or any(True for _ in files_of(message))
    )
    is_called = message.guild_id is None or any(one.id == me for one in message.mentions)
    return is_empty and not is_called and _answers(message, me)


def _whose(message: DiscordMessage, me: str) -> Whose:
    answered = message.referenced_message
    if message.is_forwarded or message.sticker_items:
        return Whose.ANYBODYS
    if answered is None or answered.is_forwarded:
        return Whose.ANYBODYS
    if answered.webhook_id is not None:
        return Whose.ANYBODYS
    if answered.author.id == me:
        return Whose.AGENTS
    return Whose.SENDERS if answered.author.id == message.author.id else Whose.ANYBODYS
