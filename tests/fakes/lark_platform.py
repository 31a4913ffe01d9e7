"""Lark for the checks that every platform passes: Anna in private, in a room and in a thread."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.lark.channel import LarkChannel
from agent.channels.lark.client import LarkApi
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import LarkSettings
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.lark_server import (
    ANNA,
    APP_ID,
    BOT,
    DM,
    ROOM,
    SECRET,
    Fault,
    Json,
    LarkServer,
    text_of,
)
from tests.waits import wait_until

CALLED = "@_user_1"
MENTIONS = [{"key": CALLED, "id": {"open_id": BOT}, "name": "Barnacle"}]


def channel_at(
    server: LarkServer, http: HttpClient, folder: Path, clock: Clock | None = None, **more: Any
) -> LarkChannel:
    """With an agent's folder; `more` are fields of its place."""
    told = {"knows": lambda _: True} | more
    place = ChannelContext(folder / "lark", ReceivedFiles(folder / "inbox"), **told)
    ticking = clock or SystemClock()
    api = LarkApi(APP_ID, Secret(SECRET), server.url, http, ticking)
    return LarkChannel(api, LarkSettings(), place, ticking)


class LarkPlatform:
    """One app, and Anna."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: LarkServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        # Where each message of a person stands
        self._places: dict[str, tuple[str, str | None]] = {}
        self.channel = self.restarted()

    def restarted(self) -> LarkChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        if is_group and calls:
            await self._say(ROOM, {"text": f"{CALLED} {text}"}, mentions=MENTIONS)
        else:
            await self._say(ROOM if is_group else DM, {"text": text})

    async def write_in_thread(self, text: str) -> bool:
        told = {"root_id": "om_root", "parent_id": "om_root", "thread_id": "omt_1"}
        await self._say(ROOM, {"text": f"{CALLED} {text}"}, mentions=MENTIONS, **told)
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        key = self.server.next_id("img")
        self.server.files[key] = content
        words, picture = {"tag": "text", "text": text}, {"tag": "img", "image_key": key}
        await self._say(DM, {"title": "", "content": [[words], [picture]]}, kind="post")

    async def _say(self, chat: str, content: Json, **more: Any) -> None:
        self._last = await self.server.write(ANNA, chat, content, **more)
        message = self._last["event"]["message"]
        self._places[message["message_id"]] = (chat, message.get("root_id"))
        self._places[message.get("root_id")] = (chat, message.get("root_id"))

    async def repeat(self) -> None:
        await self.server.again(self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        place = (inbound.reply_target, inbound.thread)
        mine = [one for one in self.server.messages if self._place(one) == place]
        return [text_of(one) for one in mine if text_of(one)]

    def files(self) -> list[bytes]:
        return [*self.server.files.values()]

    def marks(self) -> int:
        return len(self.server.reactions)

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        fault = Fault("/im/v1/messages", 502)
        if retry_after_s:
            told = {"code": 99991400, "msg": "request trigger frequency limit"}
            wait = f"x-ogw-ratelimit-reset: {retry_after_s:.0f}"
            fault = Fault("/im/v1/messages", 429, told, (wait,))
        self.server.faults.append(fault)

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await wait_until(self.asked)
        [card] = self.asked()
        where = {**card, "chat": self._place(card)[0]}
        await self.server.press(ANNA, where, answer.value.capitalize())

    def asked(self) -> list[Json]:
        return [one for one in self.server.messages if one["msg_type"] == "interactive"]

    def _place(self, message: Json) -> tuple[str, str | None]:
        if "chat" in message:
            return message["chat"], None
        chat, root = self._places[message["answers"]]
        assert message["is_in_thread"] == (root is not None)
        return chat, root
