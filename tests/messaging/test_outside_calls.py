"""Calls of callers outside that are cancelled: before the act, and in the middle of it."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from agent.approvals.records import CallCase, NotRecorded
from agent.channels.base import Answer
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.tools.base import ToolContext
from tests.fakes.channel import FakeChannel, SilentChannel, message
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import ScriptedProvider
from tests.fakes.tools import CountingTool, LampArguments
from tests.waits import stays, wait_until

CALL = ToolCall("1", "lamp", '{"value":"on"}')
# In which a call that may not end would have ended
A_MOMENT_S = 0.2


class HeldLamp(CountingTool):
    """Takes until it is let go on."""

    def __init__(self, effect: Effect = Effect.ACTUATE) -> None:
        super().__init__(effect)
        self.goes_on = asyncio.Event()
        self.is_done = False

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        result = await super().execute(arguments, context)
        await self.goes_on.wait()
        self.is_done = True
        return result


class Results(NotRecorded):
    """Keeps what came of the acts."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def came_of(self, case: CallCase, result: ToolResult) -> None:
        self.kept.append(result.text)


def used(agent: Running, records: Results) -> "asyncio.Task[ToolResult]":
    agent.dispatcher._conversations._parts.runner.gate._records = records
    asked = replace(message("go"), provenance=Provenance.USER)
    return asyncio.create_task(agent.dispatcher.use_tool(asked, CALL, "turn"))


async def test_an_act_that_has_begun_is_done_to_its_end_and_goes_on_record(tmp_path: Path) -> None:
    lamp, records = HeldLamp(), Results()
    async with running(
        tmp_path, ScriptedProvider(), FakeChannel(Answer.YES), tools=[lamp]
    ) as agent:
        call = used(agent, records)
        await wait_until(lambda: lamp.uses)
        call.cancel()
        await stays(lambda: not call.done(), A_MOMENT_S)
        lamp.goes_on.set()
        await asyncio.wait([call])
    assert call.cancelled()
    assert lamp.is_done
    assert records.kept == ['{"lamp":"on"}']


async def test_a_call_that_waits_for_the_owner_is_let_go(tmp_path: Path) -> None:
    lamp, records, owner = HeldLamp(), Results(), SilentChannel()
    async with running(tmp_path, ScriptedProvider(), owner, tools=[lamp]) as agent:
        call = used(agent, records)
        await wait_until(lambda: owner.questions)
        call.cancel()
        await asyncio.wait([call])
    assert call.cancelled()
    assert owner.taken_back == 1
    assert not lamp.uses
    assert not records.kept


async def test_a_look_is_let_go(tmp_path: Path) -> None:
    lamp = HeldLamp(Effect.READ)
    async with running(tmp_path, ScriptedProvider(), FakeChannel(), tools=[lamp]) as agent:
        call = used(agent, Results())
        await wait_until(lambda: lamp.uses)
        call.cancel()
        await asyncio.wait([call])
    assert call.cancelled()
    assert not lamp.is_done
