"""A process that answers over Telegram and dies where it is told to, as by a kill.

`python -m tests.fakes.telegram_agent URL TOKEN FOLDER STEP`: without a STEP it lives.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.channels.base import Deliver
from agent.channels.telegram.channel import TelegramChannel
from agent.channels.telegram.cursor import TelegramCursor
from agent.messages import Inbound, Outbound
from agent.messaging import worker
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse
from tests.fakes.clock import StandingClock
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider
from tests.fakes.telegram_bot import channel_at

# In the order in which a message passes them
STEPS = ("polled", "committed", "confirmed", "thinking", "sending", "sent")


@dataclass(frozen=True)
class Where:
    """The server, as another process knows it."""

    base_url: str
    token: str


class MortalProvider(EchoProvider):
    """Dies in a turn."""

    def __init__(self, step: str) -> None:
        self._step = step

    async def chat(self, request: ChatRequest) -> ChatResponse:
        _die("thinking", self._step)
        return await super().chat(request)


def mortal(channel: TelegramChannel, step: str) -> None:
    """Let the channel die at its step."""
    send, listen = channel.send, channel.listen

    async def sending(message: Outbound) -> None:
        _die("sending", step)
        await send(message)
        _die("sent", step)

    async def listening(deliver: Deliver) -> None:
        async def delivering(inbound: Inbound) -> None:
            _die("polled", step)
            await deliver(inbound)
            _die("committed", step)

        await listen(delivering)

    async def advancing(self: TelegramCursor, offset: int) -> None:
        await advance(self, offset)
        _die("confirmed", step)

    advance = TelegramCursor.advance
    channel.send = sending  # type: ignore[method-assign]  # it dies around the real one
    channel.listen = listening  # type: ignore[method-assign]  # as above
    TelegramCursor.advance = advancing  # type: ignore[method-assign]  # as above


# Two kills that meet the same turn would park its message, as one that breaks turns
_MOST_ATTEMPTS = 100


async def main(url: str, token: str, folder: str, step: str = "") -> None:
    worker.MAX_ATTEMPTS = _MOST_ATTEMPTS
    http = HttpClient()
    channel = channel_at(Where(url, token), http, Path(folder))
    mortal(channel, step)
    provider, clock = MortalProvider(step), StandingClock()
    async with running(Path(folder), provider, channel, clock=clock) as agent:
        await agent.dispatcher.resume(agent.tasks)
        await channel.listen(partial(agent.dispatcher.deliver, tasks=agent.tasks))


def _die(here: str, step: str) -> None:
    if here == step:
        os._exit(9)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
