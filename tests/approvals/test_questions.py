"""What is offered in a question, what it shows, and how long it waits."""

import asyncio
import json
from pathlib import Path

import pytest

from agent.approvals import questions
from agent.approvals.button import NoButton, Presence, PresenceRule
from agent.approvals.gate import Gate
from agent.approvals.records import CallCircumstances
from agent.channels.base import Answer, Question
from agent.cli.explain import remedy_of
from agent.messages import Effect, Provenance, ToolCall
from agent.security.access import RULE, DataReach
from agent.security.act import Dependence
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import ActLimits, Autonomy, Policy, Verdict
from tests.fakes.clock import SteppedClock

UNLIMITED = ActLimits()
ASKED = DataReach(Verdict.ASK, "shows the diary to guests", "it is not shared with them")


class Reader:
    """Reads every question and gives its one answer."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self._answer


class Handy:
    """A button that nobody presses."""

    trouble = ""

    async def pressed(self) -> None:
        raise TimeoutError

    async def held(self) -> None:
        raise TimeoutError


class Pressed:
    """A button that is pressed once the question is asked."""

    trouble = ""

    async def pressed(self) -> None:
        await asyncio.sleep(0)

    async def held(self) -> None:
        await asyncio.sleep(0)


def gate_in(
    folder: Path,
    limits: ActLimits,
    demanded_for: frozenset[Effect],
    button: Presence | None = None,
) -> Gate:
    approvals = StandingApprovals(folder / "standing.json", SteppedClock())
    policy = Policy(Autonomy.SUPERVISED, (), limits)
    rule = PresenceRule(button or Handy(), demanded_for)
    return Gate(policy, approvals, EmergencyStop(folder), rule)


async def question_of(
    folder: Path,
    around: CallCircumstances,
    limits: ActLimits = UNLIMITED,
    demanded_for: frozenset[Effect] = frozenset(),
    trust: Provenance = Provenance.OWNER,
    text: str = "",
) -> Question | None:
    reader = Reader(Answer.NO)
    gate = gate_in(folder, limits, demanded_for)
    await gate.admit(call_of(text), Effect.HAZARD, trust, reader, around)
    return reader.asked[0] if reader.asked else None


async def allow_always(folder: Path, around: CallCircumstances) -> None:
    gate = gate_in(folder, UNLIMITED, frozenset())
    await gate.admit(call_of(""), Effect.HAZARD, Provenance.OWNER, Reader(Answer.ALWAYS), around)


def call_of(text: str) -> ToolCall:
    return ToolCall("1", "pump", json.dumps({"text": text}))


@pytest.mark.parametrize(
    ("around", "limits", "demanded_for", "is_offered"),
    [
        (CallCircumstances(), ActLimits(), frozenset[Effect](), True),
        (CallCircumstances(may_stand=False), ActLimits(), frozenset[Effect](), False),
        (CallCircumstances(), ActLimits(per_day=0), frozenset[Effect](), False),
        (CallCircumstances(reach=ASKED), ActLimits(), frozenset[Effect](), False),
        (CallCircumstances(), ActLimits(), frozenset({Effect.HAZARD}), False),
    ],
)
async def test_an_always_is_offered_only_for_what_a_call_does(
    tmp_path: Path,
    around: CallCircumstances,
    limits: ActLimits,
    demanded_for: frozenset[Effect],
    *,
    is_offered: bool,
) -> None:
    found = await question_of(tmp_path, around, limits, demanded_for)
    assert found is not None
    assert found.always == ("exactly this call, for 30 days, on your own word" * is_offered)


@pytest.mark.parametrize(("length", "is_shown"), [(1989, True), (1990, False)])
async def test_no_more_is_asked_than_is_read(
    tmp_path: Path, length: int, *, is_shown: bool
) -> None:
    text = "x" * length
    found = await question_of(tmp_path, CallCircumstances(), text=text)
    assert (found is not None) is is_shown


async def test_of_a_long_address_the_beginning_is_shown(tmp_path: Path) -> None:
    around = CallCircumstances(source="https://a.org/" + "x" * 1000)
    found = await question_of(tmp_path, around, trust=Provenance.WEB)
    assert found is not None
    assert "(from https://a.org/x" in found.reason
    assert "x" * 180 in found.reason
    assert "x" * 200 not in found.reason


async def test_where_the_owners_word_comes_from_is_not_repeated(tmp_path: Path) -> None:
    found = await question_of(tmp_path, CallCircumstances(source="https://a.org/"))
    assert found is not None
    assert "(from" not in found.reason


def test_an_answer_is_waited_for_as_long_as_the_remedy_says() -> None:
    assert questions.QUESTION_TIMEOUT_S == 120.0
    assert "within 120 s" in remedy_of("no-answer")
    assert RULE == "access"


@pytest.mark.parametrize(
    ("content", "is_said"), [("echo pour it all", True), ("echo a drop", False)]
)
async def test_a_question_says_that_a_file_changed_since_an_always(
    tmp_path: Path, content: str, *, is_said: bool
) -> None:
    script = tmp_path / "pour.sh"
    script.write_text("echo a drop")
    around = CallCircumstances(dependence=Dependence(tmp_path, ("pour.sh",)))
    await allow_always(tmp_path, around)
    script.write_text(content)
    found = await question_of(tmp_path, around)
    # What is as it was stands
    assert (found is not None) is is_said
    if found is not None:
        assert found.reason.startswith(questions.CHANGED_TEXT)


async def test_a_call_without_files_says_nothing_of_changed_ones(tmp_path: Path) -> None:
    await allow_always(tmp_path, CallCircumstances())
    # The same words at a lower trust are asked about anew
    found = await question_of(tmp_path, CallCircumstances(), trust=Provenance.WEB)
    assert found is not None
    assert questions.CHANGED_TEXT not in found.reason


async def test_where_somebody_has_to_be_there_the_kind_of_act_says_why(tmp_path: Path) -> None:
    demanded = frozenset({Effect.HAZARD})
    found = await question_of(tmp_path, CallCircumstances(), demanded_for=demanded)
    assert found is not None
    assert found.reason.startswith("it is hazard, and a yes is not enough here")


async def test_a_question_that_nobody_needs_any_more_has_ended_with_the_answer() -> None:
    ended: list[str] = []

    async def ask(_question: Question) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("withdrawn")
        return Answer.NO

    question = Question("pump", "{}", "it is hazard")
    assert await questions.first_answer(ask, question, Pressed()) is Answer.YES
    assert ended == ["withdrawn"]


@pytest.mark.parametrize(("button", "is_offered"), [(Handy(), True), (NoButton(), False)])
async def test_the_button_is_offered_where_there_is_one(
    tmp_path: Path, button: Presence, *, is_offered: bool
) -> None:
    reader = Reader(Answer.NO)
    gate = gate_in(tmp_path, UNLIMITED, frozenset(), button)
    await gate.admit(call_of(""), Effect.HAZARD, Provenance.OWNER, reader, CallCircumstances())
    assert ("press the button" in reader.asked[0].reason) is is_offered
