"""DingTalk for the checks that every platform passes: Anna in private and in a room."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.dingtalk.channel import DingTalkChannel
from agent.channels.dingtalk.client import DingTalkApi
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import DingTalkSettings
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes import dingtalk_server
from tests.fakes.dingtalk_server import (
    ANNA,
    CLIENT_ID,
    DM,
    ROOM,
    SECRET,
    DingTalkServer,
    Fault,
    Json,
)
from tests.waits import wait_until


def channel_at(
    server: DingTalkServer, http: HttpClient, folder: Path, clock: Clock | None = None, **more: Any
) -> DingTalkChannel:
    """With an agent's folder; `more` are fields of its place."""
    told = {"knows": lambda _: True} | more
    place = ChannelContext(folder / "dingtalk", ReceivedFiles(folder / "inbox"), **told)
    ticking = clock or SystemClock()
    api = DingTalkApi(CLIENT_ID, Secret(SECRET), server.url, http, ticking)
    return DingTalkChannel(api, DingTalkSettings(), place, ticking)


class DingTalkPlatform:
    """One app, and Anna, who waits until its robot is there."""

    # It says everything once; the channel itself tries again what was not kept
    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "what_is_written_during_a_restart_is_heard": "keeps nothing for a robot that is away",
            "a_stop_in_a_group_needs_no_call": "tells a robot of a group only what calls it",
        }
    )

    def __init__(self, server: DingTalkServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        self.channel = self.restarted()

    def restarted(self) -> DingTalkChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await wait_until(lambda: self.server.open)
        chat = ROOM if is_group else DM
        told = {"isInAtList": calls} if is_group else {}
        # The platform takes the robot's name away and leaves the space behind it
        text = f" {text}" if is_group and calls else text
        self._last = await self.server.say(ANNA, chat, text, **told)

    async def write_in_thread(self, text: str) -> bool:
        del text
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        await wait_until(lambda: self.server.open)
        code = self.server.next_id("code")
        self.server.files[code] = content
        self.server.types[code] = "application/octet-stream"
        picture = {"pictureDownloadCode": "p", "downloadCode": code, "type": "picture"}
        told = {"richText": [{"text": text}, picture]}
        self._last = await self.server.write(ANNA, DM, "richText", content=told)

    async def repeat(self) -> None:
        await self.server.again(self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        wanted = {ROOM} if inbound.is_group else {DM, ANNA}
        return [one.text for one in self.server.messages if one.where in wanted and one.text]

    def files(self) -> list[bytes]:
        return [content for _, content in self.server.uploads.values()]

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        wait = (f"retry-after: {retry_after_s:.0f}",)
        fault = Fault("sendBySession", 429, {}, wait) if retry_after_s else None
        self.server.faults.append(fault or Fault("sendBySession", 502))

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[DingTalkPlatform]:
    http = HttpClient()
    async with dingtalk_server.running() as server:
        yield DingTalkPlatform(server, http, folder)
        await http.aclose()
