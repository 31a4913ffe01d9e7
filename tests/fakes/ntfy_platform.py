"""ntfy for the checks that every platform passes: the pretended server, and Anna's telephone."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.ntfy.channel import NtfyChannel
from agent.channels.ntfy.client import NtfyApi
from agent.channels.received_files import ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.ntfy_server import TOKEN, NtfyServer
from tests.waits import wait_until

TOPIC = "greenhouse-4711"


class NtfyPlatform:
    """One topic."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {"a_group_hears_only_who_calls": "has no groups: a topic is one writer to us"}
    )

    def __init__(self, server: NtfyServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: dict[str, Any] = {}
        self.channel = self.restarted()

    def restarted(self) -> NtfyChannel:
        place = ChannelContext(
            self._folder / "ntfy", ReceivedFiles(self._folder / "inbox"), lambda _: True
        )
        token = Secret(TOKEN if self.server.is_closed else "")
        api = NtfyApi(self.server.url, TOPIC, token, self._http)
        return NtfyChannel(api, place, SystemClock())

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        # Who has never listened hears nothing of what was written before
        await wait_until(lambda: self.server.opened)
        self._last = self.server.publish(TOPIC, text)

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        await wait_until(lambda: self.server.opened)
        file = {"name": "d.pdf", "url": self.server.put_file(content), "type": "application/pdf"}
        self.server.publish(TOPIC, text, attachment=file)

    async def repeat(self) -> None:
        self.server.tell(self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        return [one["message"] for one in self.ours() if "attachment" not in one]

    def files(self) -> list[bytes]:
        files = [one["attachment"]["url"] for one in self.ours() if "attachment" in one]
        return [self.server.files[url.removeprefix(self.server.url)] for url in files]

    def ours(self) -> list[dict[str, Any]]:
        return [one for one in self.server.cache if "robot" in one.get("tags", ())]

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self.server.fault = (429, 42901, retry_after_s) if retry_after_s else (502, 0, 0)

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")
