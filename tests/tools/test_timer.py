import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.messages import Effect
from agent.tools.base import AnyTool
from agent.tools.timer import timer_tools
from tests.fakes.timer_run import TimerRun, context


class Call:
    """The tools over timers in a file."""

    def __init__(self, folder: Path) -> None:
        self.run = TimerRun(folder)
        self.tools: Mapping[str, AnyTool] = {tool.name: tool for tool in timer_tools(self.run.book)}

    async def __call__(self, name: str, /, **arguments: object) -> Mapping[str, object]:
        tool = self.tools[name]
        done = await tool.execute(tool.parse(json.dumps(arguments)), context())
        assert done.success, done.text
        told = json.loads(done.text)
        assert isinstance(told, dict)
        return told

    async def refused(self, name: str, /, **arguments: object) -> str:
        tool = self.tools[name]
        done = await tool.execute(tool.parse(json.dumps(arguments)), context())
        assert not done.success
        return done.text


@pytest.fixture
def call(tmp_path: Path) -> Call:
    return Call(tmp_path)


async def test_a_timer_from_its_start_to_its_cancelling(call: Call) -> None:
    started = (await call("timer_start", seconds=600, name="pasta"))["started"]
    assert isinstance(started, dict)
    assert started["name"] == "pasta"
    await call("timer_change", name="pasta", add_seconds=60)
    (listed,) = _rows((await call("timer_list"))["timers"])
    assert (listed["number"], listed["left_seconds"]) == (1, 660)
    paused = (await call("timer_change", state="paused"))["changed"]
    assert isinstance(paused, dict)
    assert paused["state"] == "paused"
    (gone,) = _rows((await call("timer_cancel", all=True))["cancelled"])
    assert gone["name"] == "pasta"
    assert (await call("timer_list"))["timers"] == []


async def test_what_is_not_there_is_a_sentence(call: Call) -> None:
    assert await call.refused("timer_cancel", name="pasta") == "there is no timer"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("timer_start", '{"seconds": 0}'),
        ("timer_start", '{"seconds": 604801}'),
        ("timer_start", '{"seconds": 60, "name": "' + "x" * 41 + '"}'),
        ("timer_change", '{"state": "gone"}'),
        ("timer_cancel", '{"everything": true}'),
    ],
)
def test_what_no_timer_can_be_is_refused(call: Call, name: str, arguments: str) -> None:
    with pytest.raises(BadArguments):
        call.tools[name].parse(arguments)


def test_only_looking_changes_nothing(call: Call) -> None:
    effects = {name: tool.effect for name, tool in call.tools.items()}
    assert effects.pop("timer_list") is Effect.READ
    assert set(effects.values()) == {Effect.WRITE}


def _rows(value: object) -> Sequence[Mapping[str, object]]:
    assert isinstance(value, list)
    return value
