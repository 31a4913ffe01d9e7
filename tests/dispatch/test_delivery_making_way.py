"""Where only answers may go: what waits for a person's word goes when it comes, and goes first."""

import asyncio
from pathlib import Path

from agent.dispatch import outbox
from tests.fakes.channel import message
from tests.fakes.dispatching import Running, running
from tests.fakes.only_answers import OnlyAnswers
from tests.fakes.provider import EchoProvider


async def left(agent: Running) -> list[tuple[str, int]]:
    return [(one.text, one.part) for one in await agent.journal.transact(outbox.undelivered)]


async def test_what_waits_goes_before_the_answer_to_who_has_written(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("one")
        while not await left(agent):  # noqa: ASYNC110 - a state on disk
            await asyncio.sleep(0.01)
        assert channel.sent == []
        channel.left = 5
        await agent.say("two", "2")
        assert await channel.wait_for(2) == ["echo: one", "echo: two"]


async def test_what_waits_goes_before_a_command_is_answered(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("one")
        while not await left(agent):  # noqa: ASYNC110 - a state on disk
            await asyncio.sleep(0.01)
        channel.left = 5
        await agent.say("/stop", "2")
        assert (await channel.wait_for(2))[0] == "echo: one"


async def test_a_long_answer_goes_on_with_the_part_where_it_had_to_wait(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=2)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("a|b|c|d")
        await channel.wait_for(2)
        while await left(agent) != [("echo: a|b|c|d", 2)]:  # noqa: ASYNC110 - a state on disk
            await asyncio.sleep(0.01)
        channel.left = 3
        await agent.say("more", "2")
        assert await channel.wait_for(5) == ["echo: a", "b", "c", "d", "echo: more"]


async def test_another_place_waits_for_its_own_word(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        kept = await agent.dispatcher._delivery.announce("fake", "elsewhere", "for somebody else")
        assert kept is not None
        channel.left = 5
        await agent.dispatcher.deliver(message("hi"), agent.tasks)
        assert await channel.wait_for(1) == ["echo: hi"]
        assert ("for somebody else", 0) in await left(agent)
