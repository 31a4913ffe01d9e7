"""A model that always wants the same again: a few times, and then the person hears why."""

from pathlib import Path

from agent.turn.loop_guard import MOST_REPEATS
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import LoopingProvider
from tests.fakes.tools import CountingTool

ON = '{"value":"on"}'


async def test_the_same_call_is_made_three_times_in_a_turn_over_a_restart_too(
    tmp_path: Path,
) -> None:
    lamp, provider = CountingTool(), LoopingProvider("lamp", ON)
    for start in (1, 2):
        channel = FakeChannel()
        async with running(tmp_path, provider, channel, tools=[lamp]) as agent:
            await agent.say("turn the lamp on", message_id=str(start))
            (answer,) = await channel.wait_for(1)
        assert "I repeated the same steps: the same step came to the same 3 times" in answer
        assert len(lamp.uses) == provider.count == MOST_REPEATS * start
