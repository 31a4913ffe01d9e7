from pathlib import Path

from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.memory import ForesightedMemory
from tests.fakes.provider import EchoProvider


async def test_a_memory_begins_with_a_message_whose_turn_begins(tmp_path: Path) -> None:
    channel, memory = FakeChannel(), ForesightedMemory()
    async with running(tmp_path, EchoProvider(), channel, memory) as agent:
        await agent.say("is it dry?")
        # What is expected before anything of the turn was asked is asked afterwards
        assert (memory.expected, memory.queries) == (["is it dry?"], [])
        await channel.wait_for(1)
        assert [text for text, _ in memory.queries] == memory.expected


async def test_a_command_is_not_expected(tmp_path: Path) -> None:
    channel, memory = FakeChannel(), ForesightedMemory()
    async with running(tmp_path, EchoProvider(), channel, memory) as agent:
        await agent.say("/help")
        await channel.wait_for(1)
        assert memory.expected == []
