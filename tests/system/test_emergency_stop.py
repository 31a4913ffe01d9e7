"""The emergency stop with everything at work: a turn, a program with children, a board."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.channels.base import Answer
from agent.providers.base import ChatRequest, ChatResponse
from agent.security.sandbox.base import Sandbox
from agent.security.sandbox.choice import choose
from agent.security.sandbox.process import LimitedProcess
from agent.tools.board import BoardTools
from agent.tools.settings import ShellSettings
from agent.tools.shell import ShellTool, Workshop
from tests.fakes.board import FakeBoard
from tests.fakes.channel import LocalChannel
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import ScriptedProvider, calls
from tests.waits import wait_until

# Nobody else on this machine sleeps as long
SPAN_S = "4711.25"
SCRIPT = f"sleep {SPAN_S} & (sleep {SPAN_S} & wait) & sleep {SPAN_S}"
WRITE = calls(("board_gpio_write", json.dumps({"pin": "pump", "value": "on"})))
RUN = calls(("shell", json.dumps({"script": SCRIPT})))


def asleep() -> list[int]:
    """The processes of the script, wherever they were moved to."""
    return [pid for pid in _processes() if _words(pid)[:2] == ["sleep", SPAN_S]]


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


@pytest.fixture(params=["a process", "the sandbox"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    if request.param == "a process":
        return LimitedProcess()
    chosen = choose(tmp_path)
    if chosen.sandbox is None:
        pytest.skip(chosen.trouble)
    return chosen.sandbox


class Garden:
    """A board and a shell, and a model that wants both."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder, self.board = folder, FakeBoard()
        workspace = folder / "workspace"
        workspace.mkdir()
        shell = ShellTool(Workshop(sandbox, workspace, ShellSettings()))
        self.tools = [shell, *BoardTools(self.board).tools()]

    @asynccontextmanager
    async def at_work(
        self, *wishes: ChatResponse | str
    ) -> AsyncIterator[tuple[Running, list[ChatRequest]]]:
        """The agent, begun anew, and what its model was asked."""
        self.channel = LocalChannel(Answer.YES)
        model = ScriptedProvider(*wishes)
        async with running(self.folder, model, self.channel, tools=self.tools) as agent:
            agent.oversight.stop.listen(self.board.stop, self.board.allow)
            yield agent, model.requests


@pytest.fixture
def garden(tmp_path: Path, sandbox: Sandbox) -> Garden:
    return Garden(tmp_path, sandbox)


async def test_it_ends_the_turn_and_all_that_it_started(garden: Garden) -> None:
    async with garden.at_work(WRITE, RUN) as (agent, _):
        await agent.say("water them")
        await wait_until(lambda: len(asleep()) == 3)
        assert garden.board.values["pump"] == "on"
        await agent.say("/estop", "2")
        # At once, whatever the turn is doing
        assert (garden.board.values["pump"], garden.board.is_stopped) == ("off", True)
        await wait_until(lambda: not asleep())
        told = await garden.channel.wait_for(2)
        assert "Stopped." in told
        assert any("EMERGENCY STOP" in text for text in told)


async def test_it_holds_over_a_restart_until_it_is_cleared(garden: Garden) -> None:
    async with garden.at_work() as (agent, _):
        await agent.say("/estop")
        await garden.channel.wait_for(1)
    async with garden.at_work(WRITE, RUN, "I may not.") as (agent, requests):
        await agent.say("water them", "2")
        await garden.channel.wait_for(1)
        refusals = [one.text for one in requests[-1].messages if one.tool_name]
        assert len(refusals) == 2
        assert all("not allowed (estop)" in text for text in refusals)
        assert (garden.channel.questions, garden.board.record, asleep()) == ([], [], [])
        await agent.say("/estop clear", "3")
        await garden.channel.wait_for(2)
    async with garden.at_work(WRITE, "It runs.") as (agent, _):
        await agent.say("water them", "4")
        await wait_until(lambda: garden.board.values["pump"] == "on")
