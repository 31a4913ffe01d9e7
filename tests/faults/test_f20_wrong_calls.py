"""A model that calls what does not exist with what does not fit: nothing runs, and it ends."""

from pathlib import Path

import pytest

from agent.turn.guidance import MAX_REPAIR_ROUNDS
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import LoopingProvider, ScriptedProvider, calls
from tests.fakes.tools import CountingTool

WRONG = [
    ("no_such_tool", "{}"),
    ("", "{}"),
    ("lamp\n", '{"value":"on"}'),
    ("x" * 100_000, "{}"),
    ("lamp", ""),
    ("lamp", '{"value":"on"'),
    ("lamp", '{"value":NaN}'),
    ("lamp", '["on"]'),
    ("lamp", '{"value":"on","approved":true}'),
    ("lamp", '{"value":"\\ud800"}'),
    ("lamp", "[" * 100_000),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: ascii(f"{wrong[0]:.20} {wrong[1]:.20}"))
async def test_a_wrong_call_runs_nothing_and_the_person_gets_an_answer(
    tmp_path: Path, wrong: tuple[str, str]
) -> None:
    channel, lamp = FakeChannel(), CountingTool()
    provider = ScriptedProvider(*[calls(wrong)] * 2, "I could not.")
    async with running(tmp_path, provider, channel, tools=[lamp]) as agent:
        await agent.say("turn the lamp on")
        assert await channel.wait_for(1) == ["I could not."]
    assert lamp.uses == []
    told = [request.messages[-1].text for request in provider.requests[1:]]
    assert all(text.startswith('error: {"error":') for text in told)
    assert max(map(len, told)) < 2000


async def test_a_model_that_is_wrong_for_ever_is_ended_and_the_reason_said(tmp_path: Path) -> None:
    channel, lamp = FakeChannel(), CountingTool()
    provider = LoopingProvider("lmp", '{"value":"on"}')
    async with running(tmp_path, provider, channel, tools=[lamp]) as agent:
        await agent.say("turn the lamp on")
        (answer,) = await channel.wait_for(1)
    assert lamp.uses == []
    assert provider.count <= MAX_REPAIR_ROUNDS + 3
    assert "I repeated the same steps" in answer
    assert "Not done, because the call was not understood: lmp" in answer
