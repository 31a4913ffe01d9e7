"""Telegram for the checks that every platform passes."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from agent.channels.base import Answer, Question
from agent.channels.telegram.channel import TelegramChannel
from agent.messages import Inbound
from agent.net.http import HttpClient
from tests.fakes.telegram_bot import channel_at
from tests.fakes.telegram_server import Fault, TelegramServer
from tests.fakes.telegram_world import ANNA, FORUM, GROUP, USERNAME


class TelegramPlatform:
    """Anna, a group and a forum."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: TelegramServer, http: HttpClient, folder: Path) -> None:
        self._server = server
        self._http = http
        self._folder = folder
        self.channel = self.restarted()

    def restarted(self) -> TelegramChannel:
        return channel_at(self._server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        called = f"@{USERNAME} {text}" if is_group and calls else text
        await self._server.world.write(called, GROUP if is_group else ANNA)

    async def write_in_thread(self, text: str) -> bool:
        topic = {"message_thread_id": 12, "is_topic_message": True}
        await self._server.world.write(f"@{USERNAME} {text}", FORUM, **topic)
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        file = self._server.world.keep(content) | {"mime_type": "application/pdf"}
        await self._server.world.write(document=file, caption=text)

    async def repeat(self) -> None:
        last = max(self._server.world.messages)
        await self._server.world.push("message", self._server.world.messages[last])

    def shown(self, inbound: Inbound) -> list[str]:
        chat = int(inbound.reply_target)
        found = [one for (place, _), one in self._server.world.messages.items() if place == chat]
        thread = None if inbound.thread is None else int(inbound.thread)
        mine = [one for one in found if one["from"]["is_bot"] and "text" in one]
        return [one["text"] for one in mine if one.get("message_thread_id") == thread]

    def files(self) -> list[bytes]:
        sent = [one["document"] for one in self._server.world.sent if "document" in one]
        return [self._server.world.files[one["file_id"]] for one in sent]

    def marks(self) -> int:
        return len(self._server.world.reactions)

    def typings(self) -> int:
        return len(self._server.world.actions)

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        trouble = {"retry_after_s": int(retry_after_s)} if retry_after_s else {"html": 502}
        self._server.faults.append(Fault("sendMessage", **trouble))

    def cut_listening(self) -> None:
        self._server.faults.append(Fault("getUpdates", cuts=True))

    async def answer_question(self, question: Question, answer: Answer) -> None:
        asked = next(one for one in reversed(self._server.world.sent) if "reply_markup" in one)
        await self._server.world.press(asked, answer.value.capitalize())
