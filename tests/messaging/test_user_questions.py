import asyncio
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer
from agent.messages import Address, Attachment, Effect, Provenance
from agent.messaging.user_questions import _Asker
from agent.messaging.worker import STOPPED_TEXT
from agent.tools.ask_user import AskUserTool
from tests.fakes.channel import FakeChannel, RefusingChannel, message
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.tools import CountingTool
from tests.waits import stays, wait_until

ASK = calls(("ask_user", '{"question":"When?","choices":["at six","at seven"]}'))
SHOWN = "When?\n1. at six\n2. at seven"


def results(provider: ScriptedProvider) -> str:
    return provider.requests[1].messages[-1].text


async def until_asked(agent: Running, channel: FakeChannel, count: int = 1) -> None:
    assert await channel.wait_for(count) == [SHOWN] * count
    # The question is open only once it has arrived
    await wait_until(lambda: agent.dispatcher._user_questions._open)


async def states(agent: Running) -> list[tuple[str, str]]:
    def read(db: sqlite3.Connection) -> list[tuple[str, str]]:
        return db.execute("SELECT message_id, state FROM inbox ORDER BY id").fetchall()

    return await agent.journal.look(read)


async def test_the_next_message_of_the_person_is_the_answer(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "seven it is")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("2", "2")
        assert await channel.wait_for(2) == [SHOWN, "seven it is"]
        await wait_until(agent.is_idle)
        assert results(provider) == '{"answer":"at seven"}'
        assert await states(agent) == [("1", "answered"), ("2", "answered")]


async def test_it_is_no_order_of_its_own_and_what_follows_is(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted", "hello")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("after lunch", "2")
        await agent.say("hi", "3")
        assert await channel.wait_for(3) == [SHOWN, "noted", "hello"]
        assert results(provider) == '{"answer":"after lunch"}'
    assert len(provider.requests) == 3


async def test_of_two_quick_messages_one_is_the_answer(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted", "hello")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await asyncio.gather(agent.say("1", "2"), agent.say("hi", "3"))
        assert await channel.wait_for(3) == [SHOWN, "noted", "hello"]
        assert results(provider) == '{"answer":"at six"}'


async def test_what_was_forwarded_is_a_message_of_its_own() -> None:
    asker = _Asker(asyncio.get_running_loop().create_future())
    assert not asker.hear(replace(message("at seven"), is_forwarded=True))
    assert asker.is_open
    assert asker.hear(message("at seven"))


async def test_a_picture_is_an_answer_that_names_its_place(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted")
    (tmp_path / "photo").write_bytes(b"x")
    picture = Attachment(f"{tmp_path}/photo", "image/jpeg", "plan.jpg", 1)
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        note = "a.pdf is too large."
        said = replace(message("", "2"), attachments=(picture,), notes=(note,))
        await agent.dispatcher.deliver(said, agent.tasks)
        assert await channel.wait_for(2) == [SHOWN, "noted"]
    told = results(provider)
    assert "[IMAGE:received/" in told
    assert "plan.jpg" in told
    assert note in told
    assert provider.requests[1].messages[-1].words.provenance is Provenance.WEB


async def test_a_spoken_answer_is_its_words(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted")
    (tmp_path / "voice").write_bytes(b"x")
    voice = Attachment(f"{tmp_path}/voice", "audio/ogg", "", 1)
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        said = replace(message("2.", "2"), attachments=(voice,), is_spoken=True)
        await agent.dispatcher.deliver(said, agent.tasks)
        assert await channel.wait_for(2) == [SHOWN, "noted"]
        assert results(provider) == '{"answer":"at seven"}'


@pytest.mark.parametrize("is_spoken", [False, True])
async def test_what_may_hurt_is_asked_in_writing_once_an_answer_was_spoken(
    tmp_path: Path, *, is_spoken: bool
) -> None:
    """The order was typed, and how long it is for was heard, perhaps wrongly."""
    heater = calls(("lamp", '{"value":"on"}'))
    channel, provider = FakeChannel(Answer.YES), ScriptedProvider(ASK, heater, "noted")
    tools = [AskUserTool(), CountingTool(Effect.HAZARD)]
    async with running(tmp_path, provider, channel, tools=tools) as agent:
        await agent.say("heat")
        await until_asked(agent, channel)
        said = replace(message("at seven", "2"), is_spoken=is_spoken)
        await agent.dispatcher.deliver(said, agent.tasks)
        assert await channel.wait_for(2) == [SHOWN, "noted"]
    (question,) = channel.questions
    assert ("said aloud" in question.reason, question.always == "") == (is_spoken, is_spoken)


async def test_what_could_not_be_heard_is_no_answer_and_is_told(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        unheard = replace(message("", "2"), notes=("I could not hear that.",))
        await agent.dispatcher.deliver(unheard, agent.tasks)
        await agent.say("at seven", "3")
        assert await channel.wait_for(3) == [SHOWN, "noted", "I could not hear that."]
        assert results(provider) == '{"answer":"at seven"}'


async def test_somebody_else_is_not_heard(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "hello stranger", "noted")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("at noon", "2", sender="guest")
        assert await channel.wait_for(2) == [SHOWN, "hello stranger"]
        await agent.say("at seven", "3")
        assert (await channel.wait_for(3))[-1] == "noted"
        assert provider.requests[2].messages[-1].text == '{"answer":"at seven"}'


async def test_commands_overtake_and_the_question_stays_open(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "noted")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("/status", "2")
        assert (await channel.wait_for(2))[1] == "all is well"
        await agent.say("at seven", "3")
        assert (await channel.wait_for(3))[2] == "noted"


async def test_a_turn_that_was_stopped_waits_for_nothing_more(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "hello")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("/stop", "2")
        assert (await channel.wait_for(2))[1] == STOPPED_TEXT
        await agent.say("at seven", "3")
        assert (await channel.wait_for(3))[-1] == "hello"


async def test_a_stop_that_says_more_is_no_answer_to_a_question(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "the pump is off")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("/stop the pump", "2")
        assert set((await channel.wait_for(3))[1:]) == {STOPPED_TEXT, "the pump is off"}


async def test_the_same_message_twice_is_one_answer(tmp_path: Path) -> None:
    channel = FakeChannel()
    provider = ScriptedProvider(ASK, ASK, "noted")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        await agent.say("at six", "2")
        await until_asked(agent, channel, 2)
        await agent.say("at six", "2")
        await stays(lambda: len(provider.requests) == 2, 0.02)
        await agent.say("at seven", "3")
        assert (await channel.wait_for(3))[-1] == "noted"


async def test_after_its_time_it_goes_on_without_and_the_next_message_is_one(
    tmp_path: Path,
) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "never mind", "hello")
    async with running(tmp_path, provider, channel, tools=[AskUserTool(0.05)]) as agent:
        await agent.say("wake me")
        assert await channel.wait_for(2) == [SHOWN, "never mind"]
        assert "no answer within 0.05 s" in results(provider)
        await agent.say("at seven", "2")
        assert (await channel.wait_for(3))[-1] == "hello"


async def test_a_question_that_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    channel, provider = RefusingChannel(1), ScriptedProvider(ASK, "I cannot ask")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        assert await channel.wait_for(1) == ["I cannot ask"]
        assert "could not be sent" in results(provider)


async def test_the_question_of_a_job_is_answered_in_the_persons_conversation(
    tmp_path: Path,
) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, "seven it is")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        job = replace(message("wake them"), strand="job-wake")
        await agent.dispatcher.take(job, agent.tasks)
        await until_asked(agent, channel)
        await agent.say("2", "2")
        assert await channel.wait_for(2) == [SHOWN, "seven it is"]
        assert results(provider) == '{"answer":"at seven"}'


async def test_two_questions_in_one_conversation_come_one_after_the_other(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider(ASK, ASK, "one", "two")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        await until_asked(agent, channel)
        job = replace(message("wake them", "2"), strand="job-wake")
        await agent.dispatcher.take(job, agent.tasks)
        await wait_until(lambda: len(provider.requests) == 2)
        await agent.say("1", "3")
        await wait_until(lambda: [one.text for one in channel.sent].count(SHOWN) == 2)
        await wait_until(lambda: agent.dispatcher._user_questions._open)
        await agent.say("2", "4")
        await channel.wait_for(4)
    told = [request.messages[-1].text for request in provider.requests[2:]]
    assert told == ['{"answer":"at six"}', '{"answer":"at seven"}']


class ReadingChannel(FakeChannel):
    """Reads the answer itself, as a terminal does."""

    async def inquire(self, address: Address, question: str) -> str | None:
        return f"{address.person} heard {question.splitlines()[0]}"


async def test_where_the_channel_reads_itself_its_line_is_the_answer(tmp_path: Path) -> None:
    channel, provider = ReadingChannel(), ScriptedProvider(ASK, "noted")
    async with running(tmp_path, provider, channel, tools=[AskUserTool()]) as agent:
        await agent.say("wake me")
        assert await channel.wait_for(1) == ["noted"]
        assert results(provider) == '{"answer":"owner heard When?"}'
