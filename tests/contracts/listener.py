"""A channel at work, and what it has delivered."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.channels.base import Channel
from agent.errors import ChannelUnavailable, StorageFull
from agent.messages import Attachment, Inbound, Outbound
from tests.contracts.platform import Platform
from tests.waits import wait_until


class Listener:
    """What a channel has delivered."""

    def __init__(self) -> None:
        self.heard: list[Inbound] = []
        # Each delivery waits for it
        self.may_keep = asyncio.Event()
        self.may_keep.set()
        self.trouble: Exception | None = None
        self.begun = 0
        self.refused = 0

    async def deliver(self, inbound: Inbound) -> None:
        self.begun += 1
        await self.may_keep.wait()
        if self.trouble is not None:
            self.refused += 1
            raise self.trouble
        self.heard.append(inbound)

    async def first(self, count: int = 1) -> list[Inbound]:
        await wait_until(lambda: len(self.heard) >= count)
        return self.heard[:count]


@contextlib.asynccontextmanager
async def listening(channel: Channel) -> AsyncIterator[Listener]:
    """The channel at work; when it fails it is begun again at once."""
    listener = Listener()

    async def run() -> None:
        while True:
            with contextlib.suppress(ChannelUnavailable, StorageFull):
                await channel.listen(listener.deliver)
            await asyncio.sleep(0.01)

    task = asyncio.ensure_future(run())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.wait([task])
        await channel.aclose()


def answer(inbound: Inbound, text: str, number: int = 1) -> Outbound:
    told = {"in_reply_to": inbound.answers, "thread": inbound.thread}
    return Outbound(number, inbound.channel, inbound.reply_target, text, **told)


async def stand(platform: Platform, heard: Inbound, *texts: str) -> None:
    """These answers and no others; a real server may show them a moment later."""
    await wait_until(lambda: len(platform.shown(heard)) >= len(texts))
    assert platform.shown(heard) == list(texts)


def content(file: Attachment) -> bytes:
    return Path(file.path).read_bytes()
