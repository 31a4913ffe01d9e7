import random
from pathlib import Path

import pytest
from msgspec import structs

from agent.channels.base import Abilities
from agent.messages import Attachment, Role
from agent.providers.candidate import ModelCandidate
from agent.providers.reliable import ReliableProvider
from agent.turn.settings import AgentSettings
from agent.turn.summary import removed_turns
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running, spoken
from tests.fakes.narrow_provider import NarrowProvider
from tests.fakes.provider import EchoProvider, ScriptedProvider
from tests.fakes.tools import CountingTool


async def test_a_conversation_that_grew_too_long_is_answered_and_stays_short(
    tmp_path: Path,
) -> None:
    narrow = NarrowProvider(most=9)
    provider = ReliableProvider(
        [ModelCandidate("narrow", [narrow])], SteppedClock(), random.Random(1)
    )
    channel = FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        for number in range(1, 12):
            await agent.say(f"message {number}", str(number))
            await channel.wait_for(number)
    # Nobody was asked to say anything again
    assert [message.text for message in channel.sent] == [f"answer {n}" for n in range(1, 12)]
    # Refused where it had grown again, not in every turn from the first time on
    assert narrow.refused == 2
    # What no longer is shown is told in a few words
    told = "".join(message.text for message in narrow.seen[-1])
    assert "- person: message 1\n- you: answer 1" in told


async def test_an_answer_is_said_without_what_was_meant_for_a_machine(tmp_path: Path) -> None:
    leaving = "[Used tools: lamp]"
    provider = ScriptedProvider(f"It is on.\n{leaving}", "ok")
    channel = FakeChannel()
    async with running(tmp_path, provider, channel, tools=[CountingTool()]) as agent:
        await agent.say("is it on?", "1")
        assert await channel.wait_for(1) == ["It is on."]
        await agent.say("thanks", "2")
        await channel.wait_for(2)
    # Nor does the model read it again
    assert [m.text for m in spoken(provider.requests[1])] == ["is it on?", "It is on.", "thanks"]


async def test_files_that_an_answer_names_go_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/a.txt").write_text("hello")
    channel = FakeChannel()
    channel.abilities = Abilities(takes_files=True)
    async with running(tmp_path, ScriptedProvider("Here: [DOCUMENT:a.txt]"), channel) as agent:
        await agent.say("send it")
        assert await channel.wait_for(1) == ["Here:"]
    assert [file.name for file in channel.sent[0].files] == ["a.txt"]


async def test_a_file_that_came_is_shown_once_and_told_afterwards(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("buy milk")
    note = Attachment(str(tmp_path / "note.txt"), "text/plain", "note.txt", 8)
    provider = ScriptedProvider("ok", "ok")
    channel = FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        first = structs.replace(message("what is in it?", "1"), attachments=(note,))
        await agent.dispatcher.deliver(first, agent.tasks)
        await channel.wait_for(1)
        await agent.say("and now?", "2")
        await channel.wait_for(2)
    asked = spoken(provider.requests[0])[-1]
    assert asked.role is Role.USER
    assert "buy milk" in asked.text
    again = spoken(provider.requests[1])[0]
    assert again.text == "what is in it?\n\n[DOCUMENT:received/owner/note.txt] (note.txt)"


async def test_what_hurts_the_machine_is_told_without_changing_what_stays(tmp_path: Path) -> None:
    provider, channel = ScriptedProvider("yes", "yes"), FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("are you well?", "1")
        await channel.wait_for(1)
        agent.hurts.append("the voltage of the supply is too low")
        await agent.say("and now?", "2")
        await channel.wait_for(2)
    well, hurt = (request.messages for request in provider.requests)
    assert well[0] == hurt[0]
    assert "too low" not in well[1].text
    assert "- the voltage of the supply is too low" in hurt[1].text


@pytest.mark.parametrize(
    ("name", "summaries", "waiting"), [("echo", True, 1), ("echo", False, 0), ("offline", True, 0)]
)
async def test_turns_that_go_wait_for_a_summary_where_a_model_can_make_one(
    tmp_path: Path,
    name: str,
    summaries: bool,  # noqa: FBT001 - a parameter of the test
    waiting: int,
) -> None:
    channel, provider = FakeChannel(), EchoProvider()
    provider.name = name
    async with running(tmp_path, provider, channel) as agent:
        agent.adopt(AgentSettings(history_tokens=500, summaries=summaries))
        for number in range(1, 6):
            await agent.say("on and on " * 100, str(number))
            await channel.wait_for(number)
        found = await agent.journal.look(removed_turns)
    assert len(found) == waiting
