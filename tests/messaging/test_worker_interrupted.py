"""What becomes of messages whose turns are broken off by the next one."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from agent.messaging import inbox
from agent.messaging.conversation import INTERRUPTED_TEXT
from agent.messaging.worker import MessageWorker
from agent.providers.base import ChatRequest, ChatResponse, Provider
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import calls
from tests.fakes.tools import CountingTool
from tests.waits import wait_until


class Switching(Provider):
    """Switches the lamp at one word, and comes to an end only where it may."""

    name = "switching"

    def __init__(self, at: str, *, ends: bool) -> None:
        self._at = at
        self._ends = ends
        self.asked: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        said = request.messages[-1].text
        self.asked.append(said)
        if said.endswith(self._at):
            return calls(("lamp", '{"value":"on"}'))
        if not self._ends:
            await asyncio.Event().wait()
        return ChatResponse("done")


def interrupting(agent: Running) -> None:
    agent.dispatcher._queues._interrupts = True


async def test_what_acted_for_two_messages_is_repeated_for_neither(tmp_path: Path) -> None:
    provider, lamp = Switching("for an hour", ends=False), CountingTool()
    async with running(tmp_path, provider, FakeChannel(), tools=[lamp]) as agent:
        interrupting(agent)
        await agent.say("lamp on", "1")
        await wait_until(lambda: provider.asked)
        await agent.say("for an hour", "2")
        # The turn on both has acted, and goes on until the power fails
        await wait_until(lambda: len(provider.asked) == 3)
    channel, provider = FakeChannel(), Switching("lamp on", ends=True)
    async with running(tmp_path, provider, channel, tools=[lamp]) as agent:
        await agent.dispatcher.resume(agent.tasks)
        await channel.wait_for(1)
        await wait_until(agent.is_idle)
        assert await agent.journal.look(inbox.unanswered) == []
    assert [one.text for one in channel.sent] == [INTERRUPTED_TEXT]
    assert len(lamp.uses) == 1


async def test_of_three_quick_messages_none_is_lost(tmp_path: Path) -> None:
    provider, channel = Switching("never", ends=False), FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        interrupting(agent)
        await agent.say("one", "1")
        await wait_until(lambda: provider.asked)
        # They come with one request, as platforms hand over what was written meanwhile
        await agent.say("two", "2")
        await agent.say("three", "3")
        await wait_until(lambda: provider.asked[-1].endswith("three"))
        # What stands there of an answer to the first becomes none
        await wait_until(lambda: channel.broken_off)
    assert provider.asked[-1].split() == ["one", "two", "three"]
    assert channel.broken_off[0] == "1"


async def test_who_lost_access_meanwhile_leaves_no_message_open(tmp_path: Path) -> None:
    provider, channel = Switching("never", ends=False), FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        interrupting(agent)
        await agent.say("one", "1")
        await wait_until(lambda: provider.asked)
        worker = agent.dispatcher._queues._attend
        assert isinstance(worker, MessageWorker)
        worker._desk = replace(worker._desk, stands=lambda _: False)
        await agent.say("two", "2")
        await wait_until(agent.is_idle, 5)
        await wait_until(lambda: len(channel.broken_off) == 2)
    assert channel.sent == []
    assert channel.broken_off == ["1", "2"]


class Revoking(Switching):
    """Whoever asks loses access while it thinks."""

    def __init__(self) -> None:
        super().__init__("lamp on", ends=True)
        self.lose_access: Callable[[], None] = lambda: None

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.lose_access()
        return await super().chat(request)


async def test_who_loses_access_in_the_middle_of_a_turn_moves_nothing_more(tmp_path: Path) -> None:
    provider, lamp = Revoking(), CountingTool()
    async with running(tmp_path, provider, FakeChannel(), tools=[lamp]) as agent:
        worker = agent.dispatcher._queues._attend
        assert isinstance(worker, MessageWorker)

        def lose_access() -> None:
            worker._desk = replace(worker._desk, stands=lambda _: False)

        provider.lose_access = lose_access
        await agent.say("lamp on", "1")
        await wait_until(lambda: len(provider.asked) == 2)
        await wait_until(agent.is_idle, 5)
    assert lamp.uses == []
    assert "no access any more" in provider.asked[1]
