from pathlib import Path

import pytest

from agent.channels.base import Answer
from agent.messages import Provenance, ToolCall, ToolResult
from agent.messaging.conversation import UNREAD_TEXT, WITHHELD_TEXT
from agent.turn.hooks import Cancel, Hook, OwnerHooks
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import Around, running, spoken
from tests.fakes.hooks import (
    BrokenGuard,
    BrokenHook,
    CancellingHook,
    HangingHook,
    LeavingHook,
    LoggingHook,
    SendingGuard,
    ShoutingHook,
    SilencingHook,
)
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import tool_result
from tests.fakes.tools import CountingTool
from tests.waits import wait_until

ON, OFF = '{"value":"on"}', '{"value":"off"}'
CALL = ToolCall("1", "lamp", OFF)


async def lamp(call: ToolCall) -> ToolResult:
    assert (call.call_id, call.name) == ("1", "lamp")
    return tool_result(success=False, text=call.arguments_json, provenance=Provenance.WEB)


async def test_a_turn_passes_its_hooks_in_order(tmp_path: Path) -> None:
    hook = LoggingHook()
    provider = ScriptedProvider(calls(("lamp", ON)), "It is on.")
    channel = FakeChannel(Answer.YES)
    tools = [CountingTool()]
    async with running(
        tmp_path, provider, channel, tools=tools, around=Around(OwnerHooks([hook]))
    ) as agent:
        await agent.say("on")
        await channel.wait_for(1)
    assert hook.seen == [
        "received on",
        "start",
        "before lamp",
        "after lamp",
        "sending It is on.",
        "end",
    ]


async def test_hooks_change_words_and_nothing_else() -> None:
    hooks = OwnerHooks([ShoutingHook()])
    heard = await hooks.received(message("hello"))
    assert not isinstance(heard, Cancel)
    assert (heard.text, heard.sender, heard.provenance) == ("HELLO", "owner", Provenance.OWNER)
    result = await hooks.around(CALL, lamp)
    # A failure stays one, and a stranger's words stay a stranger's
    assert result == tool_result(success=False, text=ON.upper(), provenance=Provenance.WEB)
    assert await hooks.sending(message("x"), "fine") == "FINE"


async def test_each_hook_gets_what_the_one_before_it_made() -> None:
    log = LoggingHook()
    await OwnerHooks([ShoutingHook(), log]).received(message("hello"))
    assert log.seen == ["received HELLO"]


async def test_a_cancelled_call_is_never_made() -> None:
    async def must_not(_call: ToolCall) -> ToolResult:
        raise AssertionError("the tool was used")

    result = await OwnerHooks([CancellingHook("before")]).around(CALL, must_not)
    assert result == tool_result(success=False, text="not allowed (hook): not that")


async def test_a_withheld_result_still_happened() -> None:
    result = await OwnerHooks([CancellingHook("after")]).around(CALL, lamp)
    assert (result.text, result.provenance) == ("withheld by a hook: private", Provenance.WEB)


@pytest.mark.parametrize("what", ["received", "sending"])
async def test_a_cancelled_message_gets_no_answer_and_is_not_asked_again(
    tmp_path: Path, what: str
) -> None:
    provider = ScriptedProvider("one", "two")
    channel = FakeChannel()
    hooks = OwnerHooks([CancellingHook(what)])
    async with running(tmp_path, provider, channel, around=Around(hooks)) as agent:
        await agent.say("hello", "1")
        await agent.say("/help", "2")
        await channel.wait_for(1)
        # A command overtakes what is cancelled
        await wait_until(agent.is_idle)
    async with running(tmp_path, provider, channel) as agent:
        await agent.dispatcher.resume(agent.tasks)
        await agent.say("again", "3")
        await channel.wait_for(2)
    assert len(channel.sent) == 2
    assert [m.text for m in spoken(provider.requests[-1])] == ["again"]


async def test_a_hook_that_breaks_is_reported_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = OwnerHooks([BrokenHook()])
    assert await hooks.received(message("hello")) == message("hello")
    assert (await hooks.around(CALL, lamp)).text == OFF
    assert await hooks.sending(message("x"), "fine") == "fine"
    await hooks.turn_starts(message("x"))
    assert caplog.text.count("hooks: failed (hook=BrokenHook)") == 3
    assert "hooks: wrong type returned (hook=BrokenHook, type=NoneType)" in caplog.text


async def test_where_a_guard_breaks_nothing_passes() -> None:
    hooks = OwnerHooks([BrokenGuard()])
    assert isinstance(await hooks.received(message("hello")), Cancel)
    assert (await hooks.around(CALL, lamp)).text.startswith("not allowed (hook)")
    assert isinstance(await hooks.sending(message("x"), "fine"), Cancel)


async def test_a_hook_that_ends_the_program_is_reported_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = OwnerHooks([LeavingHook()])
    assert await hooks.received(message("hello")) == message("hello")
    await hooks.turn_starts(message("x"))
    assert caplog.text.count("hooks: failed (hook=LeavingHook)") == 2
    assert "SystemExit: 3" in caplog.text


@pytest.mark.parametrize(
    ("guard", "text"), [(BrokenGuard(), UNREAD_TEXT), (SendingGuard(), WITHHELD_TEXT)]
)
async def test_where_a_guard_breaks_the_person_is_told(
    tmp_path: Path, guard: Hook, text: str
) -> None:
    provider, channel = ScriptedProvider("secret", "other"), FakeChannel()
    async with running(tmp_path, provider, channel, around=Around(OwnerHooks([guard]))) as agent:
        await agent.say("hello")
        assert await channel.wait_for(1) == [text]
        await wait_until(agent.is_idle)
    # Nothing of what was not to pass is read again
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("again", "2")
        await channel.wait_for(2)
    assert [m.text for m in spoken(provider.requests[-1])] == ["again"]


async def test_an_answer_of_which_a_hook_leaves_nothing_is_not_sent(tmp_path: Path) -> None:
    provider, channel = ScriptedProvider("one"), FakeChannel()
    hooks = OwnerHooks([SilencingHook()])
    async with running(tmp_path, provider, channel, around=Around(hooks)) as agent:
        await agent.say("hello")
        await wait_until(lambda: provider.requests)
        await agent.say("/help", "2")
        await channel.wait_for(1)
        await wait_until(agent.is_idle)
    assert [one.in_reply_to for one in channel.sent] == ["2"]


async def test_a_hook_that_hangs_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    hooks = OwnerHooks([HangingHook()], timeout_s=0.01)
    assert await hooks.received(message("hello")) == message("hello")
    assert "limit_s=0.01" in caplog.text


async def test_the_gate_is_behind_the_hooks(tmp_path: Path) -> None:
    tool = CountingTool()
    provider = ScriptedProvider(calls(("lamp", OFF)), "done")
    channel = FakeChannel(Answer.NO)
    hooks = OwnerHooks([ShoutingHook()])
    async with running(tmp_path, provider, channel, tools=[tool], around=Around(hooks)) as agent:
        await agent.say("off")
        await channel.wait_for(1)
    results = [m.text for m in spoken(provider.requests[-1]) if m.tool_name]
    assert len(results) == 1
    # What the hook made of the call is what the person was asked about, if at all
    assert [question.arguments_json for question in channel.questions] in ([], [ON])


@pytest.mark.parametrize(
    "hook", [CancellingHook("sending"), ShoutingHook(), SilencingHook(), Hook()]
)
async def test_nothing_of_an_answer_is_shown_before_its_hook_has_seen_it(
    tmp_path: Path, hook: Hook
) -> None:
    channel, provider = FakeChannel(), ScriptedProvider("The code of the alarm is 4711.")
    async with running(tmp_path, provider, channel, around=Around(OwnerHooks([hook]))) as agent:
        await agent.say("what is it?")
        await wait_until(agent.is_idle)
    # One that looks at no answers leaves drafts as they are
    assert bool(channel.drafts) is (type(hook) is Hook)
