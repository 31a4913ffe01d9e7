import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.channels.base import Answer, Channel
from agent.config import Secret
from agent.errors import StorageFull
from agent.messages import ToolCall
from agent.messaging import tool_messages
from agent.messaging.delivery import Delivery
from agent.messaging.journal import open_agent_db
from agent.messaging.tool_messages import MAX_NOTICE_CHARS, ToolMessages, in_words
from agent.security.policy import Autonomy
from agent.security.redact import Redactor
from agent.tools.send_message import Addressee
from agent.turn import history as turn_history
from agent.turn.settings import AgentSettings
from tests.fakes.channel import FakeChannel, RefusingChannel, SlowChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.tools import CountingTool
from tests.waits import wait_until

ANNA = Addressee("Anna", "fake", "4711")


async def test_it_is_kept_before_it_is_sent_and_arrives_once(tmp_path: Path) -> None:
    journal, channel, post = open_agent_db(tmp_path / "agent.db"), FakeChannel(), ToolMessages()
    delivery = Delivery(journal, {"fake": channel}, SteppedClock())
    async with asyncio.TaskGroup() as tasks:
        post.open(delivery, tasks)
        assert await post(ANNA, "tea is ready")
    assert [(one.recipient, one.text) for one in channel.sent] == [("4711", "tea is ready")]
    assert await delivery.left_over() == []
    await journal.aclose()


async def test_where_the_channel_is_not_there_it_waits_in_the_outbox(tmp_path: Path) -> None:
    journal, post = open_agent_db(tmp_path / "agent.db"), ToolMessages()
    channels: dict[str, Channel] = {}
    async with asyncio.TaskGroup() as tasks:
        post.open(Delivery(journal, channels, SteppedClock()), tasks)
        assert not await post(ANNA, "tea is ready")
    later = Delivery(journal, {"fake": FakeChannel()}, SteppedClock())
    assert [one.text for one in await later.left_over()] == ["tea is ready"]
    await journal.aclose()


async def test_before_the_agent_is_at_work_nothing_is_sent() -> None:
    with pytest.raises(StorageFull, match="running yet"):
        await ToolMessages()(ANNA, "x")


class FullDelivery(Delivery):
    """Has no room for a message."""

    async def announce(self, channel: str, recipient: str, text: str) -> None:
        return None


async def test_what_cannot_be_kept_is_told_and_never_repeated(tmp_path: Path) -> None:
    journal, post = open_agent_db(tmp_path / "agent.db"), ToolMessages()
    async with asyncio.TaskGroup() as tasks:
        post.open(FullDelivery(journal, {"fake": FakeChannel()}, SteppedClock()), tasks)
        with pytest.raises(StorageFull, match="do not repeat"):
            await post(ANNA, "x")
    await journal.aclose()


SECRET = "correct-horse-battery"
SHOWN = AgentSettings(show_tool_calls=True)
ON = '{"value":"on"}'
TOLD = '`lamp {"value":"on"}`'


def lamp(times: int = 1) -> ScriptedProvider:
    return ScriptedProvider(calls(*[("lamp", ON)] * times), "done")


async def test_a_call_is_told_before_its_answer_and_answers_nothing(tmp_path: Path) -> None:
    channel, tool = FakeChannel(), CountingTool()
    async with running(tmp_path, lamp(), channel, tools=[tool]) as agent:
        agent.adopt(SHOWN)
        await agent.say("light")
        assert await channel.wait_for(2) == [TOLD, "done"]
    assert [sent.in_reply_to for sent in channel.sent] == ["", "1"]


async def test_what_is_told_is_kept_nowhere(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, lamp(), channel, tools=[CountingTool()]) as agent:
        agent.adopt(SHOWN)
        await agent.say("light")
        await channel.wait_for(2)
        await wait_until(agent.is_idle)
        history = await agent.journal.transact(
            lambda db: turn_history.history(db, message("light").conversation)
        )
    assert TOLD not in repr(history)
    assert "done" in repr(history)


async def test_unless_it_is_wanted_nothing_is_told(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, lamp(), channel, tools=[CountingTool()]) as agent:
        await agent.say("light")
        assert await channel.wait_for(1) == ["done"]


async def test_work_that_nobody_asked_for_just_now_is_silent(tmp_path: Path) -> None:
    channel, tool = FakeChannel(Answer.YES), CountingTool()
    async with running(tmp_path, lamp(), channel, tools=[tool]) as agent:
        agent.adopt(SHOWN)
        await agent.dispatcher.take(replace(message("light"), strand="job"), agent.tasks)
        assert await channel.wait_for(1) == ["done"]
    assert len(tool.uses) == 1


async def test_a_call_that_may_not_run_is_not_told(tmp_path: Path) -> None:
    channel = FakeChannel()
    careful = AgentSettings(show_tool_calls=True, autonomy=Autonomy.READONLY)
    async with running(tmp_path, lamp(), channel, tools=[CountingTool()]) as agent:
        agent.adopt(careful)
        await agent.say("light")
        assert await channel.wait_for(1) == ["done"]


async def test_looking_for_tools_is_not_told(tmp_path: Path) -> None:
    channel = FakeChannel()
    provider = ScriptedProvider(calls(("tool_search", '{"query":"lamp"}'), ("lamp", ON)), "done")
    async with running(tmp_path, provider, channel, tools=[CountingTool()]) as agent:
        agent.adopt(SHOWN)
        await agent.say("light")
        assert await channel.wait_for(2) == [TOLD, "done"]


async def test_a_platform_that_takes_no_notice_is_not_tried_again(tmp_path: Path) -> None:
    channel, tool = RefusingChannel(1), CountingTool()
    async with running(tmp_path, lamp(3), channel, tools=[tool]) as agent:
        agent.adopt(SHOWN)
        await agent.say("light")
        assert await channel.wait_for(1) == ["done"]
    assert (channel.tries, len(tool.uses)) == (2, 3)


async def test_a_slow_platform_holds_up_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_messages, "NOTICE_TIMEOUT_S", 0.01)
    channel, tool, provider = SlowChannel(), CountingTool(), lamp(2)
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        agent.adopt(SHOWN)
        await agent.say("light")
        await wait_until(lambda: len(provider.requests) >= 2)
        assert len(tool.uses) == 2
        channel.goes_on.set()
        assert await channel.wait_for(1) == ["done"]


def test_a_secret_is_not_told_even_where_the_line_is_cut() -> None:
    redactor = Redactor([Secret(SECRET)])
    for before in range(MAX_NOTICE_CHARS):
        shown = in_words(ToolCall("1", "shell", "x" * before + SECRET), redactor)
        assert SECRET[:5] not in shown


@given(st.text(max_size=400))
def test_whatever_the_arguments_are_it_is_one_short_line_of_code(arguments: str) -> None:
    shown = in_words(ToolCall("1", "lamp", arguments), Redactor())
    assert shown.count("`") == 2
    assert len(shown.splitlines()) == 1
    assert len(shown) <= MAX_NOTICE_CHARS + 2
