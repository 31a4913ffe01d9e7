"""Where only answers may go: what waits for a person's word goes when it comes, and goes first."""

from pathlib import Path

from msgspec.structs import replace

from agent.messages import Outbound
from agent.messaging import outbox
from agent.messaging.outbox import MAX_JOINED_CHARS
from tests.fakes.channel import message
from tests.fakes.dispatching import Running, running
from tests.fakes.only_answers import OnlyAnswers
from tests.fakes.provider import EchoProvider
from tests.waits import wait_until


async def left(agent: Running) -> list[tuple[str, int]]:
    return [(one.text, one.part) for one in await agent.journal.transact(outbox.undelivered)]


async def test_what_waits_goes_before_the_answer_to_who_has_written(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("one")
        await wait_until(lambda: left(agent))
        assert channel.sent == []
        channel.left = 5
        await agent.say("two", "2")
        assert await channel.wait_for(2) == ["echo: one", "echo: two"]


async def test_what_waits_goes_before_a_command_is_answered(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("one")
        await wait_until(lambda: left(agent))
        channel.left = 5
        await agent.say("/stop", "2")
        assert (await channel.wait_for(2))[0] == "echo: one"


async def test_a_long_answer_goes_on_with_the_part_where_it_had_to_wait(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=2)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("a|b|c|d")
        await channel.wait_for(2)
        await until_left(agent, ("echo: a|b|c|d", 2))
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


async def until_left(agent: Running, *texts: tuple[str, int]) -> None:
    """Wait until this is left, in the hands of nobody."""

    async def is_left() -> bool:
        return await left(agent) == [*texts] and not agent.dispatcher._delivery._under_way

    await wait_until(is_left)


async def announced(agent: Running, *texts: str, chat: str = "chat") -> list[Outbound]:
    delivery = agent.dispatcher._delivery
    kept = [await delivery.announce("fake", chat, text) for text in texts]
    return [one for one in kept if one is not None]


async def test_what_answers_nothing_goes_in_one_message_for_they_are_counted(
    tmp_path: Path,
) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        first, second, third = await announced(agent, "hot", "hotter", "off again")
        await announced(agent, "elsewhere", chat="another")
        channel.left = 2
        await agent.say("what is it?", "2")
        assert await channel.wait_for(2) == ["hot\n\nhotter\n\noff again", "echo: what is it?"]
        # Whoever had them in hand sends none of them again
        channel.left = 9
        for one in (first, second, third):
            assert not await agent.dispatcher._delivery.send(one)
        await until_left(agent, ("elsewhere", 0))


async def test_what_is_joined_and_has_to_wait_again_is_one_message_from_then_on(
    tmp_path: Path,
) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await announced(agent, "hot", "hotter")
        # The platform takes nothing after all
        await agent.dispatcher._delivery.make_way(message("hi"), agent.tasks)
        await until_left(agent, ("hot\n\nhotter", 0))
        channel.left = 1
        await agent.dispatcher._delivery.make_way(message("hi"), agent.tasks)
        assert await channel.wait_for(1) == ["hot\n\nhotter"]


async def test_an_answer_keeps_its_own_message_and_its_place(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await announced(agent, "hot")
        await agent.say("one")
        await until_left(agent, ("hot", 0), ("echo: one", 0))
        await announced(agent, "hotter", "x" * MAX_JOINED_CHARS)
        channel.left = 9
        await agent.dispatcher._delivery.make_way(message("hi"), agent.tasks)
        sent = await channel.wait_for(4)
        assert sent == ["hot", "echo: one", "hotter", "x" * MAX_JOINED_CHARS]


async def test_what_a_turn_of_no_message_had_to_say_is_not_joined(tmp_path: Path) -> None:
    """It is looked up by itself, whether it has arrived."""
    channel = OnlyAnswers(left=0)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        job = replace(message("a job"), strand="job-1")
        await agent.dispatcher.take(job, agent.tasks)
        await wait_until(lambda: left(agent))
        await announced(agent, "hot")
        channel.left = 9
        await agent.dispatcher._delivery.make_way(message("hi"), agent.tasks)
        assert await channel.wait_for(2) == ["echo: a job", "hot"]


async def test_a_channel_whose_people_have_to_write_first_is_not_deaf(tmp_path: Path) -> None:
    channel = OnlyAnswers(left=1)
    async with running(tmp_path, EchoProvider(), channel) as agent:
        await agent.say("a|b")
        await until_left(agent, ("echo: a|b", 1))
        assert agent.dispatcher._delivery._activity.deaf == frozenset()
        assert channel.tried == 1
