"""F35: an "always" to a script holds for what the script runs, as it was when it was said."""

import json
from pathlib import Path

import pytest

from agent.channels.base import Answer
from agent.messages import Provenance
from agent.tools.base import ToolContext
from agent.tools.registry import Registry
from agent.tools.settings import ShellSettings
from agent.tools.shell import ShellTool, Workshop
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import user_said
from tests.fakes.sandbox import EchoingSandbox
from tests.faults.test_f35_approval_tampered import Desk, nothing

OWNER = Provenance.OWNER


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("changed", ["water.sh", "lib/inner.sh"])
async def test_always_is_for_what_a_script_runs_as_it_was(desk: Desk, changed: str) -> None:
    """Also what the named script runs in its turn; the question says why it is asked again."""
    (desk.workspace / "lib").mkdir()
    (desk.workspace / "water.sh").write_text("sh lib/inner.sh")
    (desk.workspace / "lib/inner.sh").write_text("echo drop")
    (desk.workspace / "log.txt").write_text("once")
    workshop = Workshop(EchoingSandbox(desk.workspace), desk.workspace, ShellSettings())
    shell = ShellTool(workshop)
    desk.answer = Answer.ALWAYS

    async def water() -> None:
        arguments = json.dumps({"script": "sh water.sh >> log.txt"})
        runner = TurnRunner(
            ScriptedProvider(calls(("shell", arguments)), "done"), Registry([shell]), desk.gate, 3
        )
        context = ToolContext("c", "owner", OWNER)
        seams = TurnSeams(desk.ask, nothing, nothing)
        await runner.run((user_said("go"),), context, OWNER, seams)

    await water()
    (desk.workspace / "log.txt").write_text("twice")
    await water()
    assert len(desk.questions) == 1
    (desk.workspace / changed).write_text("echo flood")
    await water()
    assert len(desk.questions) == 2
    assert 'has changed since you answered "always"' in desk.questions[1].reason
    assert "changed" not in desk.questions[0].reason
