import asyncio
from pathlib import Path

import pytest

from agent.memory.settings import MemorySettings
from agent.messaging.recall import FRESH_S, MOST_EXPECTED, MessageRecall
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running
from tests.fakes.memory import LostMemory, PreparedMemory, SlowMemory, entry
from tests.fakes.provider import EchoProvider
from tests.waits import wait_until

DRY = message("is it dry?")
USUAL = MemorySettings()


async def test_the_memory_is_asked_before_a_message_is_accepted(tmp_path: Path) -> None:
    channel, memory = FakeChannel(), SlowMemory()
    async with running(tmp_path, EchoProvider(), channel, memory) as agent:
        await agent.say("is it dry?")
        assert [text for text, _ in memory.queries] == ["is it dry?"]
        memory.may_answer.set()
        await channel.wait_for(1)
        # Once, though the turn wants it as well
        assert len(memory.queries) == 1


async def test_nothing_is_looked_for_on_account_of_a_command(tmp_path: Path) -> None:
    channel, memory = FakeChannel(), PreparedMemory()
    async with running(tmp_path, EchoProvider(), channel, memory) as agent:
        await agent.say("/help")
        await channel.wait_for(1)
        assert memory.queries == []


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.mark.parametrize(("waited_s", "asked"), [(FRESH_S, 1), (FRESH_S + 0.1, 2)])
async def test_what_was_found_long_ago_is_looked_for_again(
    clock: SteppedClock, waited_s: float, asked: int
) -> None:
    memory = PreparedMemory([entry("the plant is dry")])
    recall = MessageRecall(memory, clock)
    recall.expect(DRY, USUAL)
    await wait_until(lambda: memory.queries)
    clock.advance(waited_s)
    [found] = await recall.of(DRY, USUAL)
    assert (found.content, len(memory.queries)) == ("the plant is dry", asked)


async def test_each_turn_looks_anew(clock: SteppedClock) -> None:
    memory = PreparedMemory()
    recall = MessageRecall(memory, clock)
    recall.expect(DRY, USUAL)
    assert await recall.of(DRY, USUAL) == []
    memory.prepared = [entry("the plant is dry")]
    assert [found.content for found in await recall.of(DRY, USUAL)] == ["the plant is dry"]


async def test_what_a_hook_wrote_instead_is_looked_for(clock: SteppedClock) -> None:
    memory = PreparedMemory()
    recall = MessageRecall(memory, clock)
    recall.expect(DRY, USUAL)
    await recall.of(message("is it wet?"), USUAL)
    assert "is it wet?" in [text for text, _ in memory.queries]
    await recall.aclose()


async def test_messages_that_no_turn_asks_for_take_no_room(clock: SteppedClock) -> None:
    memory = SlowMemory()
    recall = MessageRecall(memory, clock)
    before = asyncio.all_tasks()
    for number in range(2 * MOST_EXPECTED):
        recall.expect(message(f"never asked {number}"), USUAL)
    assert len(recall._begun) == MOST_EXPECTED
    await recall.aclose()
    assert asyncio.all_tasks() == before


async def test_a_turn_goes_on_without_a_memory_that_is_lost(
    clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    recall = MessageRecall(LostMemory(), clock)
    recall.expect(DRY, USUAL)
    assert await recall.of(DRY, USUAL) == []
    assert "memory: not available for this turn (error=the disk is gone)" in caplog.text
