"""F23: another program polls the same bot, or a webhook is set."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.telegram.channel import TelegramChannel
from agent.errors import ChannelRefused
from agent.messages import Inbound
from agent.messaging.channel_supervisor import REFUSED_WAIT_S, ChannelHealth, Supervisor
from agent.net.http import HttpClient
from agent.system.activity import Activity
from agent.system.clock import SystemClock
from tests.fakes.telegram_bot import channel_at, listening
from tests.fakes.telegram_server import TelegramServer, running
from tests.waits import stays, wait_until


class WaitingClock(SystemClock):
    """A long wait ends when the test says so."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self.may_go_on = asyncio.Event()

    async def sleep(self, duration_s: float) -> None:
        if duration_s < REFUSED_WAIT_S:
            await super().sleep(duration_s)
            return
        self.waits_s.append(duration_s)
        await self.may_go_on.wait()
        self.may_go_on.clear()


class Watched:
    """A channel looked after, and what was told of it."""

    def __init__(self, channel: TelegramChannel) -> None:
        self.clock = WaitingClock()
        self.told: list[str] = []
        self.heard: list[Inbound] = []
        self.supervisor = Supervisor(channel, self.clock, Activity(), self._tell)

    async def deliver(self, inbound: Inbound) -> None:
        self.heard.append(inbound)

    async def _tell(self, _channel: str, text: str) -> None:
        self.told.append(text)


@contextlib.asynccontextmanager
async def watched(server: TelegramServer, folder: Path) -> AsyncIterator[Watched]:
    http = HttpClient()
    watched = Watched(channel_at(server, http, folder))
    task = asyncio.ensure_future(watched.supervisor.run(watched.deliver))
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.wait([task])
        await http.aclose()


async def other_program_polls(server: TelegramServer) -> None:
    """As another one does it: its poll ends ours."""
    with contextlib.suppress(Exception):
        await server._poll({"timeout": 1})


async def test_a_webhook_is_told_once_and_looked_for_every_minute(tmp_path: Path) -> None:
    async with running() as server, watched(server, tmp_path) as agent:
        server.webhook = True
        await wait_until(lambda: agent.clock.waits_s)
        polls = len(server.called("getUpdates"))
        assert agent.supervisor.hearing is ChannelHealth.REFUSED
        [told] = agent.told
        assert "a webhook is set for this Telegram bot" in told
        await stays(lambda: len(server.called("getUpdates")) == polls, 0.1)
        agent.clock.may_go_on.set()
        await wait_until(lambda: len(agent.clock.waits_s) == 2)
        assert agent.clock.waits_s == [REFUSED_WAIT_S] * 2
        assert len(agent.told) == 1
        server.webhook = False
        await server.world.write("after it was deleted")
        agent.clock.may_go_on.set()
        await wait_until(lambda: agent.heard)


async def test_another_program_is_told_once_and_left_alone(tmp_path: Path) -> None:
    async with running() as server, watched(server, tmp_path) as agent:
        server.longest_poll_s = 5.0
        await wait_until(lambda: server._polling is not None)
        other = asyncio.ensure_future(other_program_polls(server))
        await wait_until(lambda: agent.told)
        assert "another program uses this Telegram bot" in agent.told[0]
        assert agent.supervisor.hearing is ChannelHealth.REFUSED
        polls = len(server.called("getUpdates"))
        await stays(lambda: len(server.called("getUpdates")) == polls, 0.1)
        other.cancel()
        await asyncio.wait([other])


async def test_a_second_agent_of_this_machine_does_not_even_poll(tmp_path: Path) -> None:
    async with listening(tmp_path / "one") as first:
        await wait_until(lambda: first.server.called("getUpdates"))
        http = HttpClient()
        second = channel_at(first.server, http, tmp_path / "two")
        with pytest.raises(ChannelRefused, match="another agent on this machine"):
            await second.listen(first.deliver)
        await http.aclose()
        await first.server.world.write("still heard")
        assert [one.text for one in await first.hear()] == ["still heard"]


async def test_what_a_first_agent_leaves_a_second_one_takes(tmp_path: Path) -> None:
    async with running() as server:
        http = HttpClient()
        for number in range(2):
            heard: list[Inbound] = []

            async def keep(inbound: Inbound, heard: list[Inbound] = heard) -> None:
                heard.append(inbound)

            channel = channel_at(server, http, tmp_path / str(number))
            task = asyncio.ensure_future(channel.listen(keep))
            await server.world.write(f"to number {number}")
            await wait_until(lambda heard=heard: heard)
            task.cancel()
            await asyncio.wait([task])
            assert heard[-1].text == f"to number {number}"
        await http.aclose()
