"""F35: a yes is for one exact act: not for another, not twice, not late, and nobody else's."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.gate import Gate
from agent.approvals.questions import MAX_SHOWN_CHARS, Granted
from agent.approvals.records import CallCircumstances
from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.passage import own
from agent.security.act import Dependence, Pattern
from agent.security.approvals import GRANT_S, ApprovalVoid, StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Decision, Policy, Verdict
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.registry import Registry
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import tool_result, user_said

SCRIPT = "water.sh"
OWNER, WEB = Provenance.OWNER, Provenance.WEB
EXECUTE = Effect.EXECUTE


class RunArguments(Arguments, frozen=True):
    program: str
    note: str = ""


class RunTool(Tool[RunArguments]):
    """Stands for a program that is run in the workspace: it keeps what the script said then."""

    reads = Provenance.WEB
    name = "run"
    description = own("Run a script.")
    effect = EXECUTE
    arguments_type = RunArguments

    def __init__(self, folder: Path) -> None:
        self.folder, self.ran = folder, list[str]()
        self.environment = {"PATH": "/usr/bin:/bin"}

    def binds_to(self, arguments: RunArguments) -> Dependence:
        return Dependence(self.folder, (arguments.program,), self.environment)

    async def execute(self, arguments: RunArguments, context: ToolContext) -> ToolResult:
        self.ran.append((self.folder / arguments.program).read_text())
        return tool_result(success=True, text="{}")


async def nothing(*_: object) -> None:
    return None


@dataclass
class Desk:
    """A workspace, a gate, and an owner who does something before saying yes."""

    root: Path
    clock: SteppedClock = field(default_factory=SteppedClock)
    before_yes: Callable[[], object] = lambda: None
    before_act: Callable[[], Awaitable[None]] = nothing
    answer: Answer = Answer.YES
    questions: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspace = self.root / "workspace"
        self.workspace.mkdir()
        (self.workspace / SCRIPT).write_text("water the tomatoes")
        self.stop = EmergencyStop(self.root)
        self.approvals = StandingApprovals(self.root / "standing.json", self.clock)
        self.gate = Gate(Policy(Autonomy.SUPERVISED), self.approvals, self.stop)
        self.tool = RunTool(self.workspace)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        self.before_yes()
        return self.answer

    async def turn(self, arguments: dict[str, object], trust: Provenance = OWNER) -> str:
        """What the model was told of its call."""
        provider = ScriptedProvider(calls(("run", json.dumps(arguments))), "done")
        runner = TurnRunner(provider, Registry([self.tool]), self.gate, 3)
        seams = TurnSeams(self.ask, nothing, self.before_act)
        context = ToolContext("c", "owner", trust, "https://a.example/")
        said = await runner.run((user_said("go"),), context, trust, seams)
        return next(one.text for one in said.added if one.tool_name == "run")

    def swap_folder(self) -> None:
        """Another folder with its own script in the place of the one that was shown."""
        other = self.root / "other"
        other.mkdir()
        (other / SCRIPT).write_text("drown the tomatoes")
        self.workspace.rename(self.root / "was")
        self.workspace.symlink_to(other)

    def rewrite(self) -> None:
        (self.workspace / SCRIPT).write_text("drown the tomatoes")

    def change_environment(self) -> None:
        self.tool.environment = {"PATH": "/tmp/evil"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_what_was_shown_is_what_happens(desk: Desk) -> None:
    assert await desk.turn({"program": SCRIPT}) == "{}"
    assert desk.tool.ran == ["water the tomatoes"]


@pytest.mark.parametrize("change", ["swap_folder", "rewrite"])
async def test_what_changes_while_the_owner_reads_voids_the_yes(desk: Desk, change: str) -> None:
    desk.before_yes = getattr(desk, change)
    assert "has changed since the approval" in await desk.turn({"program": SCRIPT})
    assert desk.tool.ran == []


@pytest.mark.parametrize("change", ["swap_folder", "rewrite"])
async def test_what_changes_between_the_yes_and_the_act_voids_it(desk: Desk, change: str) -> None:
    async def act() -> None:
        getattr(desk, change)()

    desk.before_act = act
    assert "has changed since the approval" in await desk.turn({"program": SCRIPT})
    assert desk.tool.ran == []


async def test_a_stop_between_the_yes_and_the_act_holds(desk: Desk) -> None:
    async def stop() -> None:
        await desk.stop.engage("by Ada")

    desk.before_act = stop
    assert "emergency stop" in await desk.turn({"program": SCRIPT})
    assert desk.tool.ran == []


CALL = ToolCall("1", "run", json.dumps({"program": SCRIPT, "note": "once"}))


def around(desk: Desk) -> CallCircumstances:
    return CallCircumstances(
        "owner", "c", dependence=Dependence(desk.workspace, (SCRIPT,), {"A": "1"})
    )


async def granted(desk: Desk) -> Granted:
    decision = await desk.gate.admit(CALL, EXECUTE, OWNER, desk.ask, around(desk))
    assert isinstance(decision, Granted)
    return decision


def other_tool(given: Granted) -> Granted:
    return replace(given, case=replace(given.case, call=replace(CALL, name="pump")))


def other_argument(given: Granted) -> Granted:
    arguments = CALL.arguments_json.replace("once", "twice")
    return replace(given, case=replace(given.case, call=replace(CALL, arguments_json=arguments)))


def further_argument(given: Granted) -> Granted:
    arguments = CALL.arguments_json.replace("}", ', "x": 1}')
    return replace(given, case=replace(given.case, call=replace(CALL, arguments_json=arguments)))


def _with(given: Granted, dependence: Dependence) -> Granted:
    circumstances = replace(given.case.circumstances, dependence=dependence)
    return replace(given, case=replace(given.case, circumstances=circumstances))


def other_folder(given: Granted) -> Granted:
    before = given.case.circumstances.dependence
    assert before.folder
    return _with(given, replace(before, folder=before.folder.parent))


def other_environment(given: Granted) -> Granted:
    before = given.case.circumstances.dependence
    return _with(given, replace(before, environment={"A": "1", "LD_PRELOAD": "x.so"}))


def other_files(given: Granted) -> Granted:
    return _with(given, replace(given.case.circumstances.dependence, files=()))


def other_question(given: Granted) -> Granted:
    return replace(given, question_id="zzzz")


@pytest.mark.parametrize(
    "mutate",
    [
        other_tool,
        other_argument,
        further_argument,
        other_folder,
        other_environment,
        other_files,
        other_question,
    ],
)
async def test_a_yes_is_for_nothing_that_differs_in_one_field(
    desk: Desk, mutate: Callable[[Granted], Granted]
) -> None:
    with pytest.raises(ApprovalVoid):
        await desk.gate.confirm(mutate(await granted(desk)), EXECUTE)


async def test_a_yes_is_used_once(desk: Desk) -> None:
    given = await granted(desk)
    await desk.gate.confirm(given, EXECUTE)
    with pytest.raises(ApprovalVoid, match="already used"):
        await desk.gate.confirm(given, EXECUTE)


async def test_a_yes_of_an_earlier_run_is_none(desk: Desk) -> None:
    given = await granted(desk)
    again = Gate(Policy(Autonomy.SUPERVISED), desk.approvals, desk.stop)
    with pytest.raises(ApprovalVoid, match="never given"):
        await again.confirm(given, EXECUTE)


async def test_a_yes_that_waits_too_long_for_its_act_is_none(desk: Desk) -> None:
    given = await granted(desk)
    desk.clock.advance(GRANT_S)
    with pytest.raises(ApprovalVoid, match="older than 120 s"):
        await desk.gate.confirm(given, EXECUTE)


async def test_an_answer_that_comes_too_late_is_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.approvals.questions.QUESTION_TIMEOUT_S", 0.02)
    late = asyncio.Event()

    async def ask(_: Question) -> Answer:
        await late.wait()
        return Answer.YES

    decision = await desk.gate.admit(CALL, EXECUTE, OWNER, ask, around(desk))
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "no-answer")


async def test_of_two_questions_one_yes_is_for_the_one_that_was_meant(desk: Desk) -> None:
    answers: dict[str, asyncio.Future[Answer]] = {}
    both = asyncio.Event()

    async def ask(question: Question) -> Answer:
        answers[question.question_id] = asyncio.get_running_loop().create_future()
        desk.questions.append(question)
        if len(desk.questions) == 2:
            both.set()
        return await answers[question.question_id]

    def asked(note: str) -> "asyncio.Task[Decision]":
        call = replace(CALL, arguments_json=json.dumps({"program": SCRIPT, "note": note}))
        return asyncio.ensure_future(desk.gate.admit(call, EXECUTE, OWNER, ask, around(desk)))

    one, other = asked("one"), asked("other")
    await both.wait()
    meant = next(one for one in desk.questions if "other" in one.arguments_json)
    assert len(answers) == 2
    answers[meant.question_id].set_result(Answer.YES)
    given = await other
    assert isinstance(given, Granted)
    assert not one.done()
    unmeant = next(one for one in desk.questions if one is not meant)
    answers[unmeant.question_id].set_result(Answer.NO)
    assert (await one).verdict is Verdict.DENY
    # Its number on the other's act
    with pytest.raises(ApprovalVoid):
        await desk.gate.confirm(replace(given, question_id=unmeant.question_id), EXECUTE)


async def test_5000_characters_are_never_cut_and_approved(desk: Desk) -> None:
    told = await desk.turn({"program": SCRIPT, "note": "x" * 5000})
    assert "too long to be shown whole" in told
    assert (desk.questions, desk.tool.ran) == ([], [])


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\x1b", "\u2066", "\U000e0041"])
async def test_what_cannot_be_seen_counts_as_long_as_it_is_spelled(desk: Desk, char: str) -> None:
    told = await desk.turn({"program": SCRIPT, "note": char * (MAX_SHOWN_CHARS // 4)})
    assert "too long to be shown whole" in told
    assert desk.questions == []


async def test_every_byte_that_acts_is_in_the_question(desk: Desk) -> None:
    note = "".join(f"{number:03d}" for number in range(600))
    await desk.turn({"program": SCRIPT, "note": note})
    assert note in desk.questions[0].arguments_json


@pytest.mark.parametrize(
    "field", ["approved", "confirmed", "force", "yes", "sudo", "question_id", "always", "trust"]
)
async def test_a_control_field_is_an_unknown_one(desk: Desk, field: str) -> None:
    told = await desk.turn({"program": SCRIPT, field: True})
    assert f"unknown field `{field}`" in told
    assert (desk.questions, desk.tool.ran) == ([], [])


async def test_of_a_name_that_stands_twice_what_acts_is_shown(desk: Desk) -> None:
    provider = ScriptedProvider(
        calls(("run", f'{{"program": "harmless.sh", "program": "{SCRIPT}"}}')), "done"
    )
    runner = TurnRunner(provider, Registry([desk.tool]), desk.gate, 3)
    seams = TurnSeams(desk.ask, nothing, nothing)
    context = ToolContext("c", "owner", OWNER)
    await runner.run((user_said("go"),), context, OWNER, seams)
    assert desk.questions[0].arguments_json == f'{{"program":"{SCRIPT}"}}'
    assert desk.tool.ran == ["water the tomatoes"]


class TestAlways:
    async def test_without_a_pattern_it_is_for_the_same_act_in_the_same_place(
        self, desk: Desk
    ) -> None:
        desk.answer = Answer.ALWAYS
        await desk.turn({"program": SCRIPT})
        await desk.turn({"program": SCRIPT})
        assert len(desk.questions) == 1
        assert desk.questions[0].always.startswith("exactly this call, for 30 days")
        desk.answer = Answer.NO
        for change in (desk.change_environment, desk.rewrite, desk.swap_folder):
            change()
            asked = len(desk.questions)
            assert "owner-no" in await desk.turn({"program": SCRIPT})
            assert len(desk.questions) == asked + 1

    async def test_with_a_pattern_it_is_for_what_the_owner_was_told(self, desk: Desk) -> None:
        desk.answer = Answer.ALWAYS
        pin = replace(around(desk), pattern=Pattern({"pin": "pump"}, "switch pin pump, any value"))

        async def write(value: str, trust: Provenance = OWNER, circumstances=pin) -> bool:
            call = ToolCall("1", "gpio_write", json.dumps({"pin": "pump", "value": value}))
            asked = len(desk.questions)
            decision = await desk.gate.admit(call, Effect.HAZARD, trust, desk.ask, circumstances)
            assert decision.verdict is Verdict.ALLOW
            await desk.gate.confirm(decision, Effect.HAZARD)
            return len(desk.questions) > asked

        assert await write("on")
        told = desk.questions[0].always
        assert told == "switch pin pump, any value, for 30 days, on your own word"
        assert not await write("off")
        # Another pin, and a turn that a page has a part in
        assert await write("on", circumstances=replace(pin, pattern=Pattern({"pin": "led"}, "l")))
        assert await write("on", WEB)
        assert "also when text of web origin asks for it" in desk.questions[-1].always

    async def test_changed_between_its_look_and_the_act_it_does_not_hold(self, desk: Desk) -> None:
        desk.answer = Answer.ALWAYS
        await desk.turn({"program": SCRIPT})

        async def act() -> None:
            desk.rewrite()

        desk.before_act = act
        assert "has changed since the approval" in await desk.turn({"program": SCRIPT})
        assert desk.tool.ran == ["water the tomatoes"]
