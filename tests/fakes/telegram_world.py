"""What Telegram knows of one bot: chats, messages, files and the updates that wait for it.

Written from https://core.telegram.org/bots/api; people act on it by its methods.
"""

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

USERNAME = "barnacle_bot"
ANNA = 1001
BEN = 1002
GROUP = -5001
FORUM = -1009


def bot() -> Json:
    number = 10**9 + secrets.randbelow(10**12)
    return {"id": number, "is_bot": True, "first_name": "Barnacle", "username": USERNAME}


@dataclass
class World:
    """People write here; the server reads.

    Each has a bot of its own: no two agents of a machine may listen to the same one.
    """

    bot: Json = field(default_factory=bot)
    webhook: str = ""
    # What the platform's clock says, for an agent whose own is a test's; 0 is this machine's
    now_s: float = 0.0
    updates: list[Json] = field(default_factory=list)
    messages: dict[tuple[int, int], Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    # What the bot did that is no message
    drafts: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)
    reactions: list[Json] = field(default_factory=list)
    answered_callbacks: list[Json] = field(default_factory=list)
    # By language; those of no language are shown in all others
    commands: dict[str, list[Json]] = field(default_factory=dict)
    sent: list[Json] = field(default_factory=list)
    edits: list[Json] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)
    without_reactions: set[int] = field(default_factory=set)
    closed_topics: set[int] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    next_update: int = 700_001
    next_message: int = 1

    def chat(self, number: int) -> Json:
        if number > 0:
            return {"id": number, "type": "private", "first_name": "Somebody"}
        kind = "supergroup" if number == FORUM or number < -1_000_000 else "group"
        return {"id": number, "type": kind, "title": "Greenhouse"}

    def is_known(self, number: object) -> bool:
        return isinstance(number, int) and abs(number) >= 1000

    async def write(self, text: str = "", chat: int = ANNA, **more: Any) -> Json:
        """Somebody sends a message; `more` are fields of it, `sender` is who it is from."""
        message = self.message(chat, more.pop("sender", chat if chat > 0 else ANNA), text, **more)
        await self.push("message", message)
        return message

    def message(self, chat: int, sender: int, text: str = "", **more: Any) -> Json:
        person = {"id": sender, "is_bot": False, "first_name": "Anna" if sender == ANNA else "Ben"}
        message: Json = {
            "message_id": self._number(),
            "date": int(self.now_s or time.time()),
            "chat": self.chat(chat),
            "from": person,
            **({"text": text} if text else {}),
            **more,
        }
        self.messages[chat, message["message_id"]] = message
        return message

    async def press(self, message: Json, label: str, sender: int = ANNA) -> None:
        """Somebody presses a button of the bot's message."""
        rows = message["reply_markup"]["inline_keyboard"]
        data = next(key["callback_data"] for row in rows for key in row if key["text"] == label)
        person = {"id": sender, "is_bot": False, "first_name": "Anna"}
        told = {"id": f"cb{self._number()}", "from": person, "message": message, "data": data}
        await self.push("callback_query", {**told, "chat_instance": "1"})

    async def push(self, kind: str, content: object) -> None:
        async with self.changed:
            self.updates.append({"update_id": self.next_update, kind: content})
            self.next_update += 1
            self.changed.notify_all()

    def keep(self, content: bytes, name: str = "file_id_1") -> Json:
        """A file that somebody has sent, as messages speak of it."""
        self.files[name] = content
        return {"file_id": name, "file_unique_id": f"u{name}", "file_size": len(content)}

    def post(self, chat: int, content: Json) -> Json:
        """The bot's own message."""
        message = {
            "message_id": self._number(),
            "date": int(self.now_s or time.time()),
            "chat": self.chat(chat),
            "from": self.bot,
            **content,
        }
        self.messages[chat, message["message_id"]] = message
        self.sent.append(message)
        return message

    def _number(self) -> int:
        self.next_message += 1
        return self.next_message - 1

    def shown(self, chat: int = ANNA) -> list[str]:
        """The bot's messages in a chat as they read by now."""
        mine = [message for (place, _), message in sorted(self.messages.items()) if place == chat]
        return [one["text"] for one in mine if one["from"]["is_bot"] and "text" in one]
