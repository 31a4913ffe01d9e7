"""QQ for the checks that every platform passes: Anna in private and in a group."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.qq.channel import QqChannel
from agent.channels.qq.client import QqApi
from agent.channels.qq.events import Groups
from agent.channels.qq.reply_windows import QqWindows
from agent.channels.received_files import ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.qq_server import APP_ID, SECRET, Fault, Json, QqServer
from tests.waits import wait_until

_FOLDERS = {"user": "users", "group": "groups", "channel": "channels", "dm": "dms"}


def channel_at(
    server: QqServer,
    http: HttpClient,
    folder: Path,
    clock: Clock | None = None,
    groups: Groups = "mention",
    **more: Any,
) -> QqChannel:
    """With an agent's folder; `more` are fields of its place."""
    told = {"knows": lambda _: True} | more
    place = ChannelContext(folder / "qq", ReceivedFiles(folder / "inbox"), **told)
    ticking = clock or SystemClock()
    api = QqApi(APP_ID, Secret(SECRET), (server.url, server.url), http, ticking)
    windows = QqWindows(place.folder / "windows.json", APP_ID, ticking)
    return QqChannel(api, groups, windows, place, ticking)


class QqPlatform:
    """One bot, and Anna."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: QqServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        self.channel = self.restarted()

    def restarted(self) -> QqChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await self._joined()
        if is_group and not calls:
            # Told only where the group's owner lets the bot hear everything
            self._last = self.server.write_in_open_room(text)
            return
        self._last = self.server.write_in_room(text) if is_group else self.server.write(text)

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        await self._joined()
        path = f"/download/{self.server.next_id('f')}"
        self.server.kept[path] = content
        file = {"url": f"{self.server.url}{path}", "content_type": "file", "filename": "d.pdf"}
        self._last = self.server.write(text, attachments=[{**file, "size": len(content)}])

    async def _joined(self) -> None:
        """Nobody can write before there is a session that is told of it."""
        await wait_until(lambda: self.server.sessions)

    async def repeat(self) -> None:
        self.server.tell(self._last["t"], self._last["d"])

    def shown(self, inbound: Inbound) -> list[str]:
        return [one["content"] for one in self._at(inbound) if "content" in one]

    def files(self) -> list[bytes]:
        sent = [one["media"]["file_info"] for one in self.server.messages if "media" in one]
        return [self.server.uploads[known] for known in sent]

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        fault = Fault("/messages", 502)
        if retry_after_s:
            told = {"code": 22009, "message": "msg limit exceed"}
            fault = Fault("/messages", 429, told, (f"retry-after: {retry_after_s:.0f}",))
        self.server.faults.append(fault)

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        self.server.write(f"{answer.value} {question.question_id}")

    def _at(self, inbound: Inbound) -> list[Json]:
        kind, _, known = inbound.reply_target.partition(":")
        place = f"{_FOLDERS[kind]}/{known}"
        return [one for one in self.server.messages if one["place"] == place]
