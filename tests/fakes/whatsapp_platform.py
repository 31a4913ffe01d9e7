"""WhatsApp for the checks that every platform passes: the pretended one, and a real gateway."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.access.pairing_codes import Codes
from agent.access.people import PeopleStore
from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.received_files import ReceivedFiles
from agent.channels.whatsapp.channel import WhatsAppChannel, WhatsAppParts
from agent.channels.whatsapp.client import WhatsAppApi
from agent.channels.whatsapp.hidden_numbers import HiddenNumbers
from agent.channels.whatsapp.reply_windows import WhatsAppWindows
from agent.config import Secret
from agent.errors import StorageFull
from agent.gateway import gateway
from agent.gateway.application import StatusSources
from agent.gateway.tokens import GatewayTokens
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes import whatsapp_server
from tests.fakes.gateway import LOOPBACK, some_samples
from tests.fakes.whatsapp_server import APP_SECRET, NUMBER_ID, TOKEN, WhatsAppServer


class Present:
    """Pushes to the channel that there is now."""

    path = WhatsAppChannel.path

    def __init__(self, channel: WhatsAppChannel) -> None:
        self.channel = channel

    def challenge(self, query: bytes) -> PushAnswer:
        return self.channel.challenge(query)

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return self.channel.refusal(headers)

    async def push(self, push: PushRequest) -> PushAnswer:
        return await self.channel.push(push)


class WhatsAppPlatform:
    """One business number, and Anna who writes to it."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "a_group_hears_only_who_calls": "has no groups for a number like this",
            "the_pulse_tells_when_the_platform_was_heard": "is silent while nobody writes",
        }
    )

    def __init__(self, server: WhatsAppServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self.knows = True
        # Accounts that their people left, as the agent is told
        self.left: list[tuple[str, str]] = []
        self.has_no_room = False
        # What people may still be answered is counted by it
        self.clock: Clock = SystemClock()
        self._http = http
        self._folder = folder
        self.present = Present(self._made())

    @property
    def channel(self) -> WhatsAppChannel:
        return self.present.channel

    def restarted(self) -> WhatsAppChannel:
        self.present.channel = self._made()
        return self.channel

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await self.server.say(text)

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        self.server.media["1013859600285441"] = content
        file = {"id": "1013859600285441", "mime_type": "application/pdf", "filename": "d.pdf"}
        told = {**file, "caption": text, "sha256": "-"}
        await self.server.tell(self.server.message("document", document=told))

    async def repeat(self) -> None:
        await self.server.post(self.server.last)

    def shown(self, inbound: Inbound) -> list[str]:
        there = [one for one in self.server.sent if one.get("to") == inbound.reply_target]
        return [text for one in there if (text := _text(one))]

    def files(self) -> list[bytes]:
        kinds = ("image", "audio", "video", "document")
        ids = [one[one["type"]]["id"] for one in self.server.sent if one["type"] in kinds]
        return [self.server.uploads[known] for known in ids]

    def marks(self) -> int:
        return self._count("reaction")

    def typings(self) -> int:
        return self._count("read")

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self.server.fault = (400, 130429, retry_after_s) if retry_after_s else (500, 131000, 0)

    def cut_listening(self) -> None:
        """Each post has a connection of its own."""

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.press(f"{answer.value}:{question.question_id}")

    async def press(self, button: str) -> None:
        reply = {"type": "button_reply", "button_reply": {"id": button, "title": "Yes"}}
        await self.server.tell(self.server.message("interactive", interactive=reply))

    def _count(self, kind: str) -> int:
        return len([one for one in self.server.sent if one["type"] == kind])

    def _made(self) -> WhatsAppChannel:
        clock = SystemClock()
        folder = self._folder / "whatsapp"

        async def left(*account: str) -> None:
            self.left.append(account)
            if self.has_no_room:
                raise StorageFull("no room")

        keeping = ReceivedFiles(self._folder / "inbox")
        place = ChannelContext(folder, keeping, lambda _: self.knows, account_left=left)
        api = WhatsAppApi(self.server.url, NUMBER_ID, Secret(TOKEN), self._http)
        ledger = PushLedger(folder / "ledger.db", clock)
        windows = WhatsAppWindows(folder / "windows.json", NUMBER_ID, self.clock)
        numbers = HiddenNumbers(folder / "numbers.json", NUMBER_ID)
        house = WhatsAppParts(Secret(APP_SECRET), ledger, windows, numbers, place, clock)
        return WhatsAppChannel(api, house)


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[WhatsAppPlatform]:
    http, clock = HttpClient(), SystemClock()
    async with whatsapp_server.running() as server:
        platform = WhatsAppPlatform(server, http, folder)
        people, codes = PeopleStore(folder / "p.json", clock), Codes(folder / "c.json", clock)
        shown = StatusSources(dict, some_samples)
        house = gateway.GatewayParts(folder, folder / "g.db", shown, [platform.present])
        made = gateway.Gateway(LOOPBACK, "", GatewayTokens("", people, codes, clock), house, clock)
        server.gateway_port = made.port
        task = asyncio.ensure_future(made.run())
        try:
            yield platform
        finally:
            task.cancel()
            await asyncio.wait([task])
            await platform.channel.aclose()
            await http.aclose()


def _text(sent: dict[str, Any]) -> str:
    about = sent.get(sent["type"], {})
    return str(about["body"] if sent["type"] == "text" else about.get("body", {}).get("text", ""))
