"""Mattermost for the checks that every platform passes: Anna in private, a channel, a thread."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.mattermost.channel import MattermostChannel
from agent.channels.mattermost.client import MattermostApi
from agent.channels.received_files import ReceivedFiles
from agent.channels.render.plain import to_plain
from agent.channels.settings import MattermostSettings
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.mattermost_server import ANNA, DM, ME, ROOM, TOKEN, Fault, Json, MattermostServer
from tests.waits import wait_until


def channel_at(
    server: MattermostServer,
    http: HttpClient,
    folder: Path,
    settings: MattermostSettings | None = None,
    clock: Clock | None = None,
    **more: Any,
) -> MattermostChannel:
    """With an agent's folder; `more` are fields of its place."""
    told = {"knows": lambda _: True} | more
    place = ChannelContext(folder / "mattermost", ReceivedFiles(folder / "inbox"), **told)
    api = MattermostApi(Secret(TOKEN), server.url, http)
    return MattermostChannel(api, settings or MattermostSettings(), place, clock or SystemClock())


class MattermostPlatform:
    """One bot, and Anna."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: MattermostServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        self.channel = self.restarted()

    def restarted(self) -> MattermostChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        called = f"@barnacle {text}" if is_group and calls else text
        await self._say(ROOM if is_group else DM, called)

    async def write_in_thread(self, text: str) -> bool:
        first = self.server.post(ROOM, ANNA, "the first of it")
        await self._say(ROOM, f"@barnacle {text}", root_id=first["id"])
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        await self._say(DM, text, file_ids=[self.server.keep("d.pdf", content)])

    async def _say(self, channel: str, text: str, **more: Any) -> None:
        # Who has never listened hears nothing of what was written before
        await wait_until(lambda: self.server.times_entered)
        self._last = self.server.post(channel, ANNA, text, **more)

    async def repeat(self) -> None:
        self.server.tell(self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        place = (inbound.reply_target, inbound.thread or "")
        ours = [one for one in self._ours() if (one["channel_id"], one["root_id"]) == place]
        return [to_plain(one["message"]) for one in ours if one["message"]]

    def files(self) -> list[bytes]:
        return [self.server.files[file][1] for one in self._ours() for file in one["file_ids"]]

    def marks(self) -> int:
        return len(self.server.reactions)

    def typings(self) -> int:
        return len(self.server.typings)

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self.server.fault = Fault(429, retry_after_s) if retry_after_s else Fault(502)

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")

    def _ours(self) -> list[Json]:
        return [one for one in self.server.posts.values() if one["user_id"] == ME]
