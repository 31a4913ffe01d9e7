"""A Telegram channel with the server behind it, listening, and what it was told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from agent.channels.context import ChannelContext
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import TelegramSettings
from agent.channels.telegram.channel import TelegramChannel
from agent.channels.telegram.client import TelegramApi
from agent.config import Secret
from agent.messages import Attachment, Inbound, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes import telegram_server
from tests.fakes.telegram_server import TelegramServer
from tests.waits import wait_until

COMMANDS = (("help", "what can be typed"), ("stop", "break off"))


@dataclass
class Bot:
    """The channel at work; `heard` are the messages that it has delivered."""

    server: TelegramServer
    channel: TelegramChannel
    heard: list[Inbound] = field(default_factory=list)
    # Set for a delivery that fails
    trouble: Exception | None = None

    async def deliver(self, inbound: Inbound) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.heard.append(inbound)

    async def hear(self, count: int = 1) -> list[Inbound]:
        await wait_until(lambda: len(self.heard) >= count)
        return self.heard[:count]

    async def send(self, text: str, to: Inbound, outbox_id: int = 1, **more: Any) -> None:
        for part, piece in enumerate(self.channel.parts(text)):
            told = {"in_reply_to": to.message_id, "thread": to.thread, "part": part} | more
            await self.channel.send(Outbound(outbox_id, "telegram", to.reply_target, piece, **told))


def content_of(file: Attachment) -> bytes:
    return Path(file.path).read_bytes()


class Known(Protocol):
    """A server, by what a bot is told of it."""

    @property
    def base_url(self) -> str: ...

    @property
    def token(self) -> str: ...


def channel_at(
    server: Known,
    http: HttpClient,
    folder: Path,
    clock: Clock | None = None,
    settings: TelegramSettings | None = None,
    **more: Any,
) -> TelegramChannel:
    """With an agent's folder; `more` are fields of its place."""
    api = TelegramApi(Secret(server.token), server.base_url, http)
    place = ChannelContext(
        folder / "telegram", ReceivedFiles(folder / "inbox"), lambda _: True, None, COMMANDS
    )
    place = replace(place, **more)
    return TelegramChannel(api, settings or TelegramSettings(), place, clock or SystemClock())


@contextlib.asynccontextmanager
async def listening(
    folder: Path, *, has_drafts: bool = True, listens: bool = True, **more: Any
) -> AsyncIterator[Bot]:
    http = HttpClient()
    async with telegram_server.running(has_drafts=has_drafts) as server:
        bot = Bot(server, channel_at(server, http, folder, **more))
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver)) if listens else None
        try:
            yield bot
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
            await bot.channel.aclose()
            await http.aclose()
