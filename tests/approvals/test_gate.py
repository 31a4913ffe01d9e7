import asyncio
import json
from pathlib import Path

import pytest

from agent.approvals.button import NoButton, PresenceRule
from agent.approvals.gate import Gate
from agent.approvals.questions import MAX_SHOWN_CHARS
from agent.approvals.records import CallCircumstances
from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance, ToolCall
from agent.security.act import Pattern, call_hash
from agent.security.approvals import STANDING_APPROVAL_S, StandingApproval, StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, Verdict
from agent.system.activity import Activity
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


async def test_while_the_owner_is_asked_it_is_known_that_somebody_is_waited_for(
    tmp_path: Path, stop: EmergencyStop, clock: SteppedClock
) -> None:
    activity, waiting = Activity(), list[int]()

    async def ask(_: Question) -> Answer:
        waiting.append(activity.questions)
        return Answer.YES

    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    gate = Gate(Policy(Autonomy.SUPERVISED), approvals, stop, None, activity)
    await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, ask)
    assert (waiting, activity.questions) == ([1], 0)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def stop(tmp_path: Path) -> EmergencyStop:
    return EmergencyStop(tmp_path)


@pytest.fixture
def gate(tmp_path: Path, clock: SteppedClock, stop: EmergencyStop) -> Gate:
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    return Gate(Policy(Autonomy.SUPERVISED), approvals, stop)


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


async def test_a_hazard_that_was_said_aloud_is_asked_even_after_an_always(gate: Gate) -> None:
    owner, aloud = Owner(Answer.ALWAYS), CallCircumstances(is_spoken=True)
    await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner)
    decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner, aloud)
    assert len(owner.asked) == 2
    assert "said aloud" in owner.asked[1].reason
    # Nor does an answer to it stand for the next one
    assert owner.asked[1].always == ""
    assert decision.verdict is Verdict.ALLOW
    harmless = await gate.admit(call({}), Effect.ACTUATE, Provenance.OWNER, owner, aloud)
    assert (harmless.verdict, len(owner.asked)) == (Verdict.ALLOW, 2)


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


async def test_what_is_too_long_only_when_it_is_spelled_out_is_refused_too(gate: Gate) -> None:
    owner = Owner(Answer.YES)
    hidden = json.dumps({"text": "\u200b" * (MAX_SHOWN_CHARS // 4)}, ensure_ascii=False)
    decision = await gate.admit(
        ToolCall("1", "pump", hidden), Effect.HAZARD, Provenance.OWNER, owner
    )
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


class Device:
    """A button; `press` answers whoever waits for it."""

    def __init__(self, trouble: str = "") -> None:
        self.trouble = trouble
        self.press = asyncio.Event()

    async def pressed(self) -> None:
        await self.press.wait()


class SilentOwner(Owner):
    """Reads the question and never answers."""

    async def __call__(self, question: Question) -> Answer:
        await super().__call__(question)
        await asyncio.Event().wait()
        return self.answer


@pytest.fixture
def watched(tmp_path: Path, clock: SteppedClock, stop: EmergencyStop) -> tuple[Gate, Device]:
    """A gate where hazards demand that somebody is at the device."""
    device = Device()
    rule = PresenceRule(device, frozenset({Effect.HAZARD}))
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    return Gate(Policy(Autonomy.FULL), approvals, stop, rule), device


class TestPresence:
    async def test_a_press_is_a_yes(self, watched: tuple[Gate, Device]) -> None:
        gate, device = watched
        owner = SilentOwner(Answer.NONE)
        asking = asyncio.create_task(gate.admit(call({}), Effect.WRITE, Provenance.TOOL, owner))
        await asyncio.sleep(0)
        device.press.set()
        decision = await asking
        assert decision.verdict is Verdict.ALLOW
        assert "button" in owner.asked[0].reason

    @pytest.mark.parametrize("answer", [Answer.YES, Answer.NO])
    async def test_a_word_is_enough_where_presence_is_not_demanded(
        self, watched: tuple[Gate, Device], answer: Answer
    ) -> None:
        gate, _ = watched
        decision = await gate.admit(call({}), Effect.WRITE, Provenance.TOOL, Owner(answer))
        assert (decision.verdict is Verdict.ALLOW) == (answer is Answer.YES)

    @pytest.mark.parametrize("answer", [Answer.YES, Answer.ALWAYS, Answer.NONE])
    async def test_no_word_is_a_yes_where_presence_is_demanded(
        self, watched: tuple[Gate, Device], answer: Answer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("agent.approvals.questions.QUESTION_TIMEOUT_S", 0.05)
        gate, _ = watched
        owner = Owner(answer)
        decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner)
        assert (decision.verdict, decision.rule) == (Verdict.DENY, "no-presence")
        assert "a yes is not enough" in owner.asked[0].reason

    @pytest.mark.parametrize("answer", [Answer.YES, Answer.ALWAYS, Answer.NONE])
    async def test_the_press_after_any_word_is(
        self, watched: tuple[Gate, Device], answer: Answer
    ) -> None:
        gate, device = watched
        asking = asyncio.create_task(
            gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, Owner(answer))
        )
        for _ in range(5):
            await asyncio.sleep(0)
        assert not asking.done()
        device.press.set()
        assert (await asking).rule == "presence"

    async def test_a_no_is_a_no(self, watched: tuple[Gate, Device]) -> None:
        gate, device = watched
        decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, Owner(Answer.NO))
        assert decision.rule == "owner-no"
        assert not device.press.is_set()

    async def test_always_never_replaces_presence(
        self, tmp_path: Path, clock: SteppedClock, stop: EmergencyStop
    ) -> None:
        approvals = StandingApprovals(tmp_path / "standing.json", clock)
        approvals.add(
            StandingApproval(
                call=call_hash("pump", "{}"),
                tool="pump",
                arguments="{}",
                until_s=approvals.end_s(),
            )
        )
        rule = PresenceRule(Device("the board is away"), frozenset({Effect.HAZARD}))
        gate = Gate(Policy(Autonomy.SUPERVISED), approvals, stop, rule)
        owner = Owner(Answer.YES)
        decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner)
        assert decision.rule == "no-presence"
        assert "the board is away" in decision.reason
        assert owner.asked == []

    async def test_without_a_button_what_demands_one_is_refused(
        self, tmp_path: Path, clock: SteppedClock, stop: EmergencyStop
    ) -> None:
        approvals = StandingApprovals(tmp_path / "standing.json", clock)
        rule = PresenceRule(NoButton(), frozenset({Effect.HAZARD}))
        gate = Gate(Policy(Autonomy.FULL), approvals, stop, rule)
        decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, Owner(Answer.YES))
        assert "board.approve_button" in decision.reason


@pytest.mark.parametrize("trust", list(Provenance))
@pytest.mark.parametrize("autonomy", list(Autonomy))
async def test_no_key_of_ours_goes_into_a_network_call(
    tmp_path: Path, clock: SteppedClock, stop: EmergencyStop, autonomy: Autonomy, trust: Provenance
) -> None:
    gate = Gate(Policy(autonomy), StandingApprovals(tmp_path / "standing.json", clock), stop)
    owner = Owner(Answer.YES)
    holding = CallCircumstances(holds_secret=True)
    decision = await gate.admit(call({"url": "x"}), Effect.NETWORK, trust, owner, holding)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "secret")
    assert owner.asked == []


async def test_a_key_of_ours_is_no_hindrance_to_what_stays_here(gate: Gate) -> None:
    owner = Owner(Answer.NO)
    holding = CallCircumstances(holds_secret=True)
    for effect in (Effect.READ, Effect.ACTUATE):
        decision = await gate.admit(call({}), effect, Provenance.OWNER, owner, holding)
        assert decision.verdict is Verdict.ALLOW
    plain = await gate.admit(call({}), Effect.NETWORK, Provenance.OWNER, owner)
    assert plain.rule != "secret"


async def test_a_question_never_shows_a_key_of_ours(gate: Gate) -> None:
    owner = Owner(Answer.YES)
    holding = CallCircumstances(holds_secret=True)
    decision = await gate.admit(call({}), Effect.HAZARD, Provenance.OWNER, owner, holding)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "secret")
    assert owner.asked == []


async def test_an_always_is_listed_by_what_it_is_for(
    tmp_path: Path, clock: SteppedClock, stop: EmergencyStop
) -> None:
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    gate = Gate(Policy(Autonomy.SUPERVISED), approvals, stop)
    owner = Owner(Answer.ALWAYS)
    wide = CallCircumstances(pattern=Pattern({"pin": "PB3"}, "switch PB3"))
    await gate.admit(call({"pin": "PB3", "on": True}), Effect.HAZARD, Provenance.USER, owner, wide)
    await gate.admit(call({"b": 1, "a": 2}), Effect.HAZARD, Provenance.USER, owner)
    assert [one.arguments for one in approvals.every()] == ['{"pin":"PB3"}', '{"a":2,"b":1}']
    again = CallCircumstances(pattern=Pattern({"pin": "PB3"}, "switch PB3"))
    refused = Owner(Answer.NO)
    decision = await gate.admit(
        call({"pin": "PB3", "on": False}), Effect.HAZARD, Provenance.USER, refused, again
    )
    assert (decision.rule, refused.asked) == ("standing-approval", [])
    other = CallCircumstances(pattern=Pattern({"pin": "PB4"}, "switch PB4"))
    decision = await gate.admit(
        call({"pin": "PB4"}), Effect.HAZARD, Provenance.USER, refused, other
    )
    assert (decision.rule, len(refused.asked)) == ("owner-no", 1)
