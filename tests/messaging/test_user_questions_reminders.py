"""An open question never holds anybody in silence."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import YesBy
from agent.messages import Effect, Inbound
from agent.messaging.user_questions import MAX_REMEMBERED, QuestionReminders
from agent.messaging.worker import STOPPED_TEXT
from agent.tools.ask_user import AskUserTool
from tests.fakes.asking_channel import AskingChannel
from tests.fakes.channel import message
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.tools import CountingTool
from tests.waits import wait_until

ON = ("lamp", '{"value":"on"}')
NEXT = "/stop withdraws the question. I read your message after that."
HOW = "I wait for your answer about lamp: answer `yes` or `no`."


def said(text: str, number: int, sender: str = "owner") -> Inbound:
    return message(text, str(number), sender)


@pytest.mark.parametrize("word", ["yes", "ok", "好", "Ja!"])
async def test_a_plain_word_is_the_answer_to_the_only_question(tmp_path: Path, word: str) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    provider = ScriptedProvider(calls(ON), "it is on")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        await channel.hear(agent, said(word, 2))
        assert (await channel.wait_for(2))[1] == "it is on"
    assert len(tool.uses) == 1
    assert len(channel.sent) == 2


async def test_a_plain_no_refuses(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.HAZARD)
    provider = ScriptedProvider(calls(ON), "left alone")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        await channel.hear(agent, said("nein", 2))
        assert (await channel.wait_for(2))[1] == "left alone"
    assert tool.uses == []


async def test_what_can_hurt_needs_the_id_and_says_so_at_once(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.HAZARD)
    provider = ScriptedProvider(calls(ON), "it is on")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        known = await channel.until_asked()
        await channel.hear(agent, said("yes", 2))
        told = (await channel.wait_for(2))[1]
        assert told == (
            f"I wait for your answer about lamp: answer exactly `yes {known}`, because it can do "
            "harm, or `no`. /stop withdraws the question."
        )
        assert tool.uses == []
        await channel.hear(agent, said(f"yes {known}", 3))
        assert (await channel.wait_for(3))[2] == "it is on"
        await wait_until(agent.is_idle)
    # The word that did not count is no message for the model afterwards
    assert len(provider.requests) == 2
    assert len(tool.uses) == 1


async def test_what_is_written_meanwhile_is_answered_at_once_and_read_in_order(
    tmp_path: Path,
) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    provider = ScriptedProvider(calls(ON), "it is on", "second", "third")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        await channel.hear(agent, said("what is the time?", 2))
        assert (await channel.wait_for(2))[1] == f"{HOW} {NEXT}"
        # The same is not said again for each of several
        await channel.hear(agent, said("and the date?", 3))
        await channel.hear(agent, said("yes", 4))
        assert (await channel.wait_for(5))[2:] == ["it is on", "second", "third"]
        await wait_until(agent.is_idle)
    asked = [request.messages[-1].text for request in provider.requests]
    assert asked[2:] == ["what is the time?", "and the date?"]


async def test_a_stop_withdraws_the_question(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    provider = ScriptedProvider(calls(ON), "second")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        await channel.hear(agent, said("/stop", 2))
        await wait_until(lambda: STOPPED_TEXT in [one.text for one in channel.sent])
        await channel.hear(agent, said("hello", 3))
        await wait_until(lambda: "second" in [one.text for one in channel.sent])
    assert tool.uses == []


async def test_whoever_waits_for_the_owner_is_told_so(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    provider = ScriptedProvider(calls(ON), "it is on", "hello")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1, "guest"))
        await channel.until_asked()
        # Not theirs to answer
        await channel.hear(agent, said("yes", 2, "guest"))
        told = "I have asked the owner, and wait for the answer for two minutes at most."
        assert (await channel.wait_for(2))[1] == f"{told} /stop withdraws the question."
        await channel.hear(agent, said("are you there?", 3, "guest"))
        assert (await channel.wait_for(3))[2] == f"{told} {NEXT}"
        assert tool.uses == []
        # The owner's own conversation is not held, and their plain word counts
        await channel.hear(agent, said("ok", 4))
        assert (await channel.wait_for(5))[3:] == ["it is on", "hello"]


async def test_of_two_questions_a_plain_word_answers_neither(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    provider = ScriptedProvider(calls(ON), calls(ON), "one is on", "the other is on")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1, "guest"))
        await channel.until_asked()
        await channel.hear(agent, said("light", 2, "user"))
        await channel.until_asked(2)
        await channel.hear(agent, said("yes", 3))
        ids = [one.question_id for one in channel.questions]
        assert (await channel.wait_for(3))[2] == (
            f"More than one question is open here. Answer `yes {ids[0]}` or `no {ids[0]}` (lamp), "
            f"`yes {ids[1]}` or `no {ids[1]}` (lamp)."
        )
        assert tool.uses == []


async def test_a_word_that_answers_a_question_in_words_approves_nothing(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    asked = calls(("ask_user", '{"question":"Shall I?"}'))
    provider = ScriptedProvider(asked, calls(ON), "noted", "refused")
    async with running(tmp_path, provider, channel, tools=[tool, AskUserTool()]) as agent:
        await channel.hear(agent, said("think", 1))
        await channel.wait_for(1)
        await wait_until(lambda: agent.dispatcher._user_questions._open)
        await channel.hear(agent, said("light", 2, "guest"))
        known = await channel.until_asked()
        await channel.hear(agent, said("yes", 3))
        assert (await channel.wait_for(3))[2] == "noted"
        assert tool.uses == []
        await channel.hear(agent, said(f"no {known}", 4))
        assert (await channel.wait_for(4))[3] == "refused"


async def test_a_word_from_before_the_question_is_no_answer(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    async with running(tmp_path, ScriptedProvider(calls(ON)), channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        early = replace(said("yes", 2), sent_at_s=message("yes").received_at_s - 60)
        await channel.hear(agent, early)
        assert (await channel.wait_for(2))[1] == f"{HOW} /stop withdraws the question."
        assert tool.uses == []


async def test_the_line_is_said_again_after_a_while(tmp_path: Path) -> None:
    channel, tool = AskingChannel(), CountingTool(Effect.EXECUTE)
    async with running(tmp_path, ScriptedProvider(calls(ON)), channel, tools=[tool]) as agent:
        await channel.hear(agent, said("light", 1))
        await channel.until_asked()
        assert channel.questions[0].yes_by is YesBy.WORD
        await channel.hear(agent, said("hello?", 2))
        await channel.wait_for(2)
        agent.dispatcher._delivery.clock.advance(60.0)  # type: ignore[attr-defined]  # a stepped one
        await channel.hear(agent, said("hello??", 3))
        assert (await channel.wait_for(3))[2] == f"{HOW} {NEXT}"


async def test_what_it_remembers_is_bounded(tmp_path: Path) -> None:
    channel = AskingChannel()
    async with running(tmp_path, ScriptedProvider(), channel) as agent:
        reminders = QuestionReminders(agent.dispatcher._delivery, agent.dispatcher._desk.questions)
        for number in range(MAX_REMEMBERED + 5):
            reminders.tell(said("hello", number, f"person-{number}"), agent.tasks)
        assert len(reminders._told) <= MAX_REMEMBERED
