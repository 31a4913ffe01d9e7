import json
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.dispatch.gate import MAX_SHOWN_CHARS, Gate
from agent.messages import Effect, Provenance, ToolCall
from agent.security.approvals import STANDING_APPROVAL_S, StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Verdict
from tests.fakes.clock import SteppedClock


class Owner:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer


def call(arguments: dict[str, object]) -> ToolCall:
    return ToolCall("1", "pump", json.dumps(arguments))


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def stop(tmp_path: Path) -> EmergencyStop:
    return EmergencyStop(tmp_path)


@pytest.fixture
def gate(tmp_path: Path, clock: SteppedClock, stop: EmergencyStop) -> Gate:
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    return Gate(Autonomy.SUPERVISED, approvals, stop)


async def test_the_owners_plain_word_needs_no_question(gate: Gate) -> None:
    owner = Owner(Answer.NO)
    decision = await gate.admit(call({}), Effect.ACTUATE, Provenance.OWNER, owner)
    assert decision.verdict is Verdict.ALLOW
    assert owner.asked == []


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer.YES, Verdict.ALLOW),
        (Answer.ALWAYS, Verdict.ALLOW),
        (Answer.NO, Verdict.DENY),
        (Answer.NONE, Verdict.DENY),
    ],
)
async def test_the_answer_decides(gate: Gate, answer: Answer, verdict: Verdict) -> None:
    decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, Owner(answer))
    assert decision.verdict is verdict


async def test_always_is_for_the_same_arguments_only(gate: Gate) -> None:
    await gate.admit(
        call({"pin": "a", "on": True}), Effect.HAZARD, Provenance.OWNER, Owner(Answer.ALWAYS)
    )
    owner = Owner(Answer.NO)
    same = call({"on": True, "pin": "a"})
    assert (await gate.admit(same, Effect.HAZARD, Provenance.OWNER, owner)).verdict is Verdict.ALLOW
    assert owner.asked == []
    other = call({"pin": "b", "on": True})
    assert (await gate.admit(other, Effect.HAZARD, Provenance.OWNER, owner)).verdict is Verdict.DENY
    assert len(owner.asked) == 1


async def test_always_ends(gate: Gate, clock: SteppedClock) -> None:
    await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, Owner(Answer.ALWAYS))
    clock.advance(STANDING_APPROVAL_S + 1)
    owner = Owner(Answer.NO)
    await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner)
    assert len(owner.asked) == 1


async def test_yes_is_for_once(gate: Gate) -> None:
    owner = Owner(Answer.YES)
    for _ in range(2):
        await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner)
    assert len(owner.asked) == 2


async def test_what_cannot_be_shown_whole_is_refused_unasked(gate: Gate) -> None:
    owner = Owner(Answer.YES)
    long = call({"text": "x" * MAX_SHOWN_CHARS})
    decision = await gate.admit(long, Effect.HAZARD, Provenance.OWNER, owner)
    assert decision.rule == "too-long"
    assert owner.asked == []


class TestEmergencyStop:
    @pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.READ])
    async def test_nothing_that_changes_the_world_passes(
        self, gate: Gate, stop: EmergencyStop, effect: Effect
    ) -> None:
        await stop.engage("by Ada")
        owner = Owner(Answer.YES)
        decision = await gate.admit(call({}), effect, Provenance.OWNER, owner)
        assert (decision.verdict, decision.rule) == (Verdict.DENY, "estop")
        assert "/estop clear" in decision.reason
        assert owner.asked == []

    async def test_looking_is_still_allowed(self, gate: Gate, stop: EmergencyStop) -> None:
        await stop.engage("by Ada")
        decision = await gate.admit(call({}), Effect.READ, Provenance.OWNER, Owner(Answer.NO))
        assert decision.verdict is Verdict.ALLOW

    async def test_a_yes_that_comes_after_it_counts_for_nothing(
        self, gate: Gate, stop: EmergencyStop
    ) -> None:
        async def stops_and_says_yes(_question: Question) -> Answer:
            await stop.engage("meanwhile")
            return Answer.YES

        decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, stops_and_says_yes)
        assert (decision.verdict, decision.rule) == (Verdict.DENY, "estop")

    async def test_cleared_everything_is_as_before(self, gate: Gate, stop: EmergencyStop) -> None:
        await stop.engage("by Ada")
        await stop.clear()
        decision = await gate.admit(call({}), Effect.ACTUATE, Provenance.OWNER, Owner(Answer.NO))
        assert decision.verdict is Verdict.ALLOW
