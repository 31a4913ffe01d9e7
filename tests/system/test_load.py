"""Many people at once, and one at the end of what the machine can do."""

import time
from pathlib import Path

from msgspec.structs import replace

from agent.messaging import inbox
from agent.messaging.queue import MIN_TURNS
from agent.messaging.worker import STOPPED_TEXT
from scripts.lib.bench.process import rss_bytes
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider, StalledProvider
from tests.fakes.sending import HangsInSomeChats
from tests.fakes.slow_provider import SlowProvider

SENDERS, EACH = 50, 20
# Texts, rows and answers of a thousand messages, and what an allocator keeps of them
MOST_GROWTH_BYTES = 24 * 1024 * 1024
STOP_LIMIT_S = 0.2


async def test_a_thousand_messages_of_fifty_people_are_all_answered_in_order(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    async with running(tmp_path, SlowProvider(0.05), channel) as agent:
        await agent.say("warm up", "0", "s0")
        await channel.wait_for(1)
        before = rss_bytes()
        for number in range(EACH):
            for sender in range(SENDERS):
                await agent.say(f"{sender} {number}", f"{sender}-{number}", f"s{sender}")
        said = (await channel.wait_for(1 + SENDERS * EACH))[1:]
        grown = rss_bytes() - before
        assert await agent.journal.transact(inbox.unanswered) == []
    for sender in range(SENDERS):
        mine = [text for text in said if text.startswith(f"echo: {sender} ")]
        assert mine == [f"echo: {sender} {number}" for number in range(EACH)]
    assert grown < MOST_GROWTH_BYTES


async def test_stop_acts_at_once_when_every_turn_is_taken(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), StalledProvider()
    async with running(tmp_path, provider, channel) as agent:
        for sender in range(3 * MIN_TURNS):
            await agent.say("think for ever", f"m{sender}", f"s{sender}")
        await provider.asked.wait()
        took_s = []
        for sender in range(MIN_TURNS):
            begun_s = time.monotonic()
            await agent.say("/stop", f"stop {sender}", f"s{sender}")
            answers = await channel.wait_for(sender + 1)
            took_s.append(time.monotonic() - begun_s)
            assert set(answers) == {STOPPED_TEXT}
        # Another program may hold up any of them
        assert min(took_s) < STOP_LIMIT_S


async def test_answers_that_a_platform_holds_up_hold_up_no_turn(tmp_path: Path) -> None:
    channel = HangsInSomeChats("h")
    async with running(tmp_path, EchoProvider(), channel) as agent:
        for number in range(2 * MIN_TURNS):
            inbound = message("hi", f"{number}", f"s{number}")
            held_up = replace(inbound, reply_target=f"h{number}")
            await agent.dispatcher.deliver(held_up, agent.tasks)
        await agent.say("you", "x", "somebody else")
        assert await channel.wait_for(1) == ["echo: you"]
