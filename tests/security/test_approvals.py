import json
from pathlib import Path

import pytest

from agent.messages import Provenance
from agent.security.approvals import (
    GRANT_S,
    STANDING_APPROVAL_S,
    ApprovalVoid,
    Grants,
    StandingApproval,
    StandingApprovals,
    span,
)
from tests.fakes.clock import SteppedClock

OWNER, WEB = Provenance.OWNER, Provenance.WEB


def standing(approvals: StandingApprovals, call: str = "a", trust: int = OWNER) -> StandingApproval:
    return StandingApproval(
        call=call, tool="pump", arguments="{}", until_s=approvals.end_s(), words="w", trust=trust
    )


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def approvals(tmp_path: Path, clock: SteppedClock) -> StandingApprovals:
    return StandingApprovals(tmp_path / "standing.json", clock)


class TestGrants:
    def test_a_yes_is_spent_by_its_act_and_then_gone(self, clock: SteppedClock) -> None:
        grants = Grants(clock)
        grants.give("q", "act")
        grants.spend("q", "act")
        with pytest.raises(ApprovalVoid, match="already used"):
            grants.spend("q", "act")

    def test_a_yes_that_was_never_given_is_none(self, clock: SteppedClock) -> None:
        with pytest.raises(ApprovalVoid, match="never given"):
            Grants(clock).spend("q", "act")

    def test_a_yes_is_for_no_other_act_and_the_try_uses_it_up(self, clock: SteppedClock) -> None:
        grants = Grants(clock)
        grants.give("q", "act")
        for found in ("changed", "already used"):
            with pytest.raises(ApprovalVoid, match=found):
                grants.spend("q", "other" if found == "changed" else "act")

    def test_a_yes_to_one_question_is_none_to_another(self, clock: SteppedClock) -> None:
        grants = Grants(clock)
        grants.give("q", "act")
        with pytest.raises(ApprovalVoid):
            grants.spend("p", "act")
        grants.spend("q", "act")

    @pytest.mark.parametrize(("later_s", "holds"), [(GRANT_S - 1, True), (GRANT_S, False)])
    def test_a_yes_ends(self, clock: SteppedClock, later_s: float, *, holds: bool) -> None:
        grants = Grants(clock)
        grants.give("q", "act")
        clock.advance(later_s)
        if holds:
            grants.spend("q", "act")
        else:
            with pytest.raises(ApprovalVoid, match="120 s"):
                grants.spend("q", "act")

    def test_what_nobody_spends_is_not_kept_for_ever(self, clock: SteppedClock) -> None:
        grants = Grants(clock)
        for number in range(10):
            grants.give(str(number), "act")
            clock.advance(GRANT_S)
        assert len(grants._open) == 1


def test_an_approval_survives_a_restart_and_ends(tmp_path: Path, clock: SteppedClock) -> None:
    path = tmp_path / "standing.json"
    first = StandingApprovals(path, clock)
    first.add(standing(first))
    again = StandingApprovals(path, clock)
    assert again.covers(["a"], OWNER)
    assert not again.covers(["b"], OWNER)
    assert not again.covers([], OWNER)
    clock.advance(STANDING_APPROVAL_S)
    assert not again.covers(["a"], OWNER)


def test_the_words_of_an_approval_are_known_until_it_ends(
    approvals: StandingApprovals, clock: SteppedClock
) -> None:
    approvals.add(standing(approvals))
    assert approvals.knows("pump", "{}")
    assert not approvals.knows("pump", '{"s": 1}')
    assert not approvals.knows("valve", "{}")
    clock.advance(STANDING_APPROVAL_S)
    assert not approvals.knows("pump", "{}")


def test_a_renewed_approval_holds_from_its_renewal(
    approvals: StandingApprovals, clock: SteppedClock
) -> None:
    approvals.add(standing(approvals))
    clock.advance(STANDING_APPROVAL_S / 2)
    approvals.add(standing(approvals))
    clock.advance(STANDING_APPROVAL_S * 0.75)
    assert approvals.covers(["a"], OWNER)


def test_it_holds_for_turns_as_trusted_as_the_one_it_was_given_in(
    approvals: StandingApprovals,
) -> None:
    approvals.add(standing(approvals, "own", OWNER))
    approvals.add(standing(approvals, "any", WEB))
    assert approvals.covers(["own"], OWNER)
    assert not approvals.covers(["own"], Provenance.USER)
    assert not approvals.covers(["own"], WEB)
    assert approvals.covers(["any"], OWNER)
    assert approvals.covers(["any"], WEB)


def test_one_that_is_taken_out_of_the_file_counts_no_more_at_once(
    tmp_path: Path, approvals: StandingApprovals
) -> None:
    approvals.add(standing(approvals))
    assert approvals.covers(["a"], OWNER)
    (tmp_path / "standing.json").unlink()
    assert not approvals.covers(["a"], OWNER)


@pytest.mark.parametrize(
    "change",
    [
        {"until_s": "never"},
        {"until_s": None},
        {"until_s": 1e300},
        {"trust": "owner"},
        {"call": 5},
        {"tool": None},
    ],
)
def test_what_cannot_be_read_in_the_file_approves_nothing(
    tmp_path: Path, approvals: StandingApprovals, change: dict[str, object]
) -> None:
    approvals.add(standing(approvals))
    path = tmp_path / "standing.json"
    content = json.loads(path.read_text())
    content["_default"]["1"] |= change
    path.write_text(json.dumps(content))
    assert not approvals.covers(["a"], OWNER)
    assert approvals.every() == []


def test_those_that_have_ended_are_not_listed(
    approvals: StandingApprovals, clock: SteppedClock
) -> None:
    approvals.add(standing(approvals, "a"))
    clock.advance(STANDING_APPROVAL_S / 2)
    approvals.add(standing(approvals, "b"))
    assert [one.call for one in approvals.every()] == ["a", "b"]
    clock.advance(STANDING_APPROVAL_S / 2)
    assert [one.call for one in approvals.every()] == ["b"]


def test_a_revoked_one_is_asked_about_again_and_the_others_are_not(
    approvals: StandingApprovals,
) -> None:
    for call in ("a", "b"):
        approvals.add(standing(approvals, call))
    approvals.revoke(["a"])
    assert [approvals.covers([call], OWNER) for call in ("a", "b")] == [False, True]


def test_how_long_it_holds_is_said() -> None:
    assert span() == "30 days"


def test_those_that_end_first_are_listed_first_and_then_by_call(
    approvals: StandingApprovals, clock: SteppedClock
) -> None:
    for call in ("d", "c"):
        approvals.add(standing(approvals, call))
    clock.advance(1)
    for call in ("b", "a"):
        approvals.add(standing(approvals, call))
    assert [one.call for one in approvals.every()] == ["c", "d", "a", "b"]
