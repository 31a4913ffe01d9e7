"""Signal as the contract of channels sees it: the pretended daemon, with Anna and a group."""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Channel, Question
from agent.channels.context import ChannelContext
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import SignalSettings
from agent.channels.signal.channel import SignalChannel
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_events import MENTIONED, SENT_MS, in_group, mention, message
from tests.fakes.signal_faults import Fails


class SignalPlatform:
    """A channel to the daemon; Anna writes and reads."""

    # By the channel: the daemon tells everything once
    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, daemon: SignalDaemon, http: HttpClient, folder: Path) -> None:
        self._daemon = daemon
        self._http = http
        self._folder = folder
        self._timestamp = SENT_MS
        self._last: dict[str, Any] = {}
        self.channel: Channel = self.restarted()

    def restarted(self) -> Channel:
        place = ChannelContext(
            self._folder / "signal", ReceivedFiles(self._folder / "inbox"), lambda _: True
        )
        wanted = SignalSettings(base_url=self._daemon.url)
        return SignalChannel(wanted, place, self._http, SystemClock())

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        # The daemon notices that somebody has hung up
        await asyncio.sleep(0.02)
        if not is_group:
            self._tell(message(text, timestamp=self._next()))
        elif calls:
            named = {"mentions": [mention(0)]}
            self._tell(in_group(f"{MENTIONED} {text}", timestamp=self._next(), **named))
        else:
            self._tell(in_group(text, timestamp=self._next()))

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        self._daemon.files["file"] = content
        told = {"id": "file", "contentType": "application/pdf", "size": len(content)}
        self._tell(message(text, timestamp=self._next(), attachments=[told]))

    async def repeat(self) -> None:
        self._daemon.tell(self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        return [one.text for one in self._daemon.shown(inbound.reply_target) if not one.files]

    def files(self) -> list[bytes]:
        every = [one for chat in self._daemon.chats.values() for one in chat.values()]
        return [
            base64.b64decode(file.partition("base64,")[2]) for one in every for file in one.files
        ]

    def marks(self) -> int:
        return len(self._daemon.called("sendReaction"))

    def typings(self) -> int:
        return len(self._daemon.called("sendTyping"))

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        limited = {"type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": retry_after_s}
        broken = Fails(-5, results=(limited,)) if retry_after_s else Fails(-3, "no network")
        self._daemon.fail("send", broken)

    def cut_listening(self) -> None:
        self._daemon.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")

    def _next(self) -> int:
        self._timestamp += 1
        return self._timestamp

    def _tell(self, arrival: dict[str, Any]) -> None:
        self._last = arrival
        self._daemon.tell(arrival)
