"""Addressee of a group message, and its words without the mention.

Telegram counts in UTF-16 units; some of its programs leave the marks of a mention out, so a name
in plain text counts too.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from agent.channels.telegram.events import TelegramEntity, TelegramMessage
from agent.channels.urgency import is_for_everybody

_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?=\s|\Z)")


class TelegramSelf(Struct, frozen=True):
    """The bot, from `getMe`.

    Args:
        series: before the ids of its messages; empty of the first bot that was here.
    """

    id: int
    username: str
    series: str = ""


def is_addressed(message: TelegramMessage, me: TelegramSelf) -> bool:
    """Return true if somebody in a group speaks to the bot."""
    answered = message.reply_to_message
    if answered is not None and answered.from_ is not None and answered.from_.id == me.id:
        return True
    if any(_is_me(words, entity, me) for words, entity in _marked(message)):
        return True
    command = _COMMAND.match(message.words)
    if command is not None and command[2] and command[2].lower() == me.username.lower():
        return True
    # A command without a name is for every bot there; what makes safe is heard all the same
    if is_for_everybody(message.words):
        return True
    return bool(me.username) and _named(me).search(message.words) is not None


def is_for_another(message: TelegramMessage, me: TelegramSelf) -> bool:
    """Return true if it begins with a command for another bot."""
    found = _COMMAND.match(message.words)
    return found is not None and found[2] is not None and found[2].lower() != me.username.lower()


def without_calling(text: str, me: TelegramSelf) -> str:
    """Return the text without the bot's name."""
    found = _COMMAND.match(text)
    if found is not None and found[2] is not None and found[2].lower() == me.username.lower():
        return f"/{found[1]}{text[found.end() :]}"
    if not me.username:
        return text.strip()
    return re.sub(rf"^\s*@{re.escape(me.username)}\b[\s,:]*", "", text, flags=re.IGNORECASE).strip()


def utf16_slice(text: str, offset: int, length: int) -> str:
    """Return a part of the text, counted in UTF-16 units; empty if out of range."""
    if offset < 0 or length <= 0:
        return ""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")


def _marked(message: TelegramMessage) -> Iterator[tuple[str, TelegramEntity]]:
    for entity in message.marked:
        yield utf16_slice(message.words, entity.offset, entity.length), entity


def _is_me(words: str, entity: TelegramEntity, me: TelegramSelf) -> bool:
    if entity.kind == "text_mention":
        return entity.user is not None and entity.user.id == me.id
    name = f"@{me.username}".lower()
    if entity.kind == "mention":
        return words.lower() == name
    return entity.kind == "bot_command" and words.lower().endswith(name)


def _named(me: TelegramSelf) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@])@{re.escape(me.username)}(?!\w)", re.IGNORECASE)
