import asyncio
import math
from pathlib import Path

from agent.messages import Effect, ToolResult
from agent.tools.base import ToolContext
from agent.turn.delegation import Delegation
from agent.turn.settings import AgentSettings
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.tools import CountingTool


class TimedTool(CountingTool):
    """Notes the time that is left of its turn."""

    def __init__(self) -> None:
        super().__init__(Effect.READ)
        self.left_s = math.inf

    async def execute(self, arguments: object, context: ToolContext) -> ToolResult:
        assert isinstance(context.nested, Delegation)
        self.left_s = context.nested.within.ends_s - asyncio.get_running_loop().time()
        return await super().execute(arguments, context)  # type: ignore[arg-type]  # its own


async def test_whoever_a_turn_asks_knows_when_the_turn_is_given_up(tmp_path: Path) -> None:
    channel, tool = FakeChannel(), TimedTool()
    provider = ScriptedProvider(calls(("lamp", '{"value":"on"}')), "done")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        agent.adopt(AgentSettings(turn_timeout_s=50))
        await agent.say("go")
        await channel.wait_for(1)
    assert 40 < tool.left_s <= 50
