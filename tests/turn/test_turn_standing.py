import json
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance, ToolResult
from agent.passage import own
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, PolicyRule, Verdict
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.registry import Registry
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import system_said, user_said


class NumberArguments(Arguments, frozen=True):
    number: int


class Presser(Tool[NumberArguments]):
    reads = Provenance.OWNER
    name = "press"
    description = own("Press a button by its number.")
    effect = Effect.NETWORK
    arguments_type = NumberArguments

    def __init__(self, *, may_stand: bool) -> None:
        self.may_stand = may_stand
        self.pressed: list[int] = []

    async def execute(self, arguments: NumberArguments, context: ToolContext) -> ToolResult:
        self.pressed.append(arguments.number)
        return ToolResult.done(own("pressed"))


async def asked_in_a_turn(folder: Path, tool: Presser) -> list[Question]:
    """The questions of a turn with one call, each answered with "always"."""
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer.ALWAYS

    async def nothing(*_: object) -> None:
        return None

    approvals = StandingApprovals(folder / "standing.json", SteppedClock())
    gate = Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(folder))
    provider = ScriptedProvider(calls(("press", json.dumps({"number": 7}))), "done")
    runner = TurnRunner(provider, Registry([tool]), gate, max_iterations=10)
    context = ToolContext("conversation", "owner", Provenance.OWNER)
    messages = (system_said("be good"), user_said("press it"))
    await runner.run(messages, context, Provenance.OWNER, TurnSeams(ask, nothing, nothing))
    return asked


@pytest.mark.parametrize(("may_stand", "count"), [(True, 1), (False, 2)])
async def test_an_always_covers_no_call_that_is_another_act_at_another_time(
    tmp_path: Path, *, may_stand: bool, count: int
) -> None:
    tool = Presser(may_stand=may_stand)
    first = await asked_in_a_turn(tmp_path, tool)
    # As after a restart: whatever was kept is read again
    asked = first + await asked_in_a_turn(tmp_path, tool)
    assert [bool(question.always) for question in asked] == [may_stand] * count
    assert tool.pressed == [7, 7]


async def test_an_always_of_an_earlier_version_covers_no_such_call(tmp_path: Path) -> None:
    await asked_in_a_turn(tmp_path, Presser(may_stand=True))
    assert len(await asked_in_a_turn(tmp_path, Presser(may_stand=False))) == 1


class PathsArguments(Arguments, frozen=True):
    paths: tuple[str, ...]


class Reader(Tool[PathsArguments]):
    reads = Provenance.OWNER
    name = "read"
    description = own("Read files.")
    effect = Effect.READ
    arguments_type = PathsArguments

    def __init__(self) -> None:
        self.read: list[str] = []

    async def execute(self, arguments: PathsArguments, context: ToolContext) -> ToolResult:
        self.read += arguments.paths
        return ToolResult.done(own("read"))


async def test_a_rule_that_refuses_a_path_refuses_it_in_a_list(tmp_path: Path) -> None:
    async def nothing(*_: object) -> None:
        return None

    rule = PolicyRule("private", "*", {"path": "diary/*"}, Verdict.DENY)
    approvals = StandingApprovals(tmp_path / "standing.json", SteppedClock())
    gate = Gate(Policy(Autonomy.FULL, (rule,)), approvals, EmergencyStop(tmp_path))
    asked = [json.dumps({"paths": paths}) for paths in (["a"], ["b", "diary/may.md"])]
    provider = ScriptedProvider(*(calls(("read", one)) for one in asked), "done")
    tool = Reader()
    runner = TurnRunner(provider, Registry([tool]), gate, max_iterations=10)
    context = ToolContext("conversation", "owner", Provenance.OWNER)
    seams = TurnSeams(nothing, nothing, nothing)  # type: ignore[arg-type]  # nobody is asked
    messages = (system_said("be good"), user_said("read them"))
    await runner.run(messages, context, Provenance.OWNER, seams)
    assert tool.read == ["a"]
