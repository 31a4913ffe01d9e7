"""iMessage for the checks that every platform passes: a pretended Mac, Anna, and a group."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.imessage.channel import ImessageChannel
from agent.channels.imessage.client import BlueBubblesApi
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import ImessageSettings
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.bluebubbles_server import DM, GROUP, PASSWORD, BlueBubblesServer
from tests.waits import wait_until

# Nobody waits for a Mac here
EVERY_S = 0.01


class ImessagePlatform:
    """One account."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, server: BlueBubblesServer, http: HttpClient, folder: Path, **settings: Any
    ) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._settings = ImessageSettings(base_url=server.url, **settings)
        self._last: dict[str, Any] = {}
        self.channel = self.restarted()

    def restarted(self, *, knows: bool = True) -> ImessageChannel:
        keeping = ReceivedFiles(self._folder / "inbox")
        place = ChannelContext(self._folder / "imessage", keeping, lambda _: knows)
        api = BlueBubblesApi(self.server.url, Secret(PASSWORD), self._http)
        return ImessageChannel(api, self._settings, place, SystemClock(), EVERY_S)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        # Who has never listened hears nothing of what was written before
        await wait_until(lambda: self.server.looked)
        called = f"Barnacle, {text}" if is_group and calls else text
        self._last = self.server.write(called, GROUP if is_group else DM)

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        await wait_until(lambda: self.server.looked)
        file = self.server.put_file(content, "application/pdf")
        self.server.write(f"\ufffc{text}", attachments=[file])

    async def repeat(self) -> None:
        self.server.rows.append(
            {**self._last, "originalROWID": self.server.rows[-1]["originalROWID"]}
        )

    def shown(self, inbound: Inbound) -> list[str]:
        return [
            one["text"] for one in self.server.ours(inbound.reply_target) if not one["attachments"]
        ]

    def files(self) -> list[bytes]:
        return self.server.sent_files

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self.server.fault = (429, retry_after_s) if retry_after_s else (502, 0)

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")
