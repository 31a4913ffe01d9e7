import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.security.approvals import STANDING_APPROVAL_S, StandingApprovals, call_hash, canonical
from tests.fakes.clock import SteppedClock

arguments = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans()))


@given(arguments, arguments)
def test_only_equal_arguments_have_equal_hashes(
    one: dict[str, object], two: dict[str, object]
) -> None:
    same = canonical(json.dumps(one)) == canonical(json.dumps(two))
    assert (call_hash("t", json.dumps(one)) == call_hash("t", json.dumps(two))) is same


def test_order_and_spacing_do_not_matter_and_the_tool_does() -> None:
    assert call_hash("t", '{"a":1,"b":2}') == call_hash("t", '{ "b": 2, "a": 1 }')
    assert call_hash("t", "{}") != call_hash("u", "{}")


def test_true_is_not_one() -> None:
    assert call_hash("t", '{"a":true}') != call_hash("t", '{"a":1}')


def test_what_is_not_json_has_no_hash() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        call_hash("t", "{")


def test_an_approval_survives_a_restart_and_ends(tmp_path: Path) -> None:
    clock = SteppedClock()
    path = tmp_path / "standing.json"
    StandingApprovals(path, clock).add("pump", '{"on":true}')
    again = StandingApprovals(path, clock)
    assert again.covers("pump", '{"on": true}')
    assert not again.covers("pump", '{"on": false}')
    clock.advance(STANDING_APPROVAL_S)
    assert not again.covers("pump", '{"on": true}')


def test_a_renewed_approval_holds_from_its_renewal(tmp_path: Path) -> None:
    clock = SteppedClock()
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    approvals.add("pump", "{}")
    clock.advance(STANDING_APPROVAL_S / 2)
    approvals.add("pump", "{}")
    clock.advance(STANDING_APPROVAL_S * 0.75)
    assert approvals.covers("pump", "{}")


def test_one_that_is_taken_out_of_the_file_counts_no_more_at_once(tmp_path: Path) -> None:
    path = tmp_path / "standing.json"
    approvals = StandingApprovals(path, SteppedClock())
    approvals.add("pump", "{}")
    assert approvals.covers("pump", "{}")
    path.unlink()
    assert not approvals.covers("pump", "{}")


def test_those_that_have_ended_are_not_listed(tmp_path: Path) -> None:
    clock = SteppedClock()
    approvals = StandingApprovals(tmp_path / "standing.json", clock)
    approvals.add("pump", "{}")
    clock.advance(STANDING_APPROVAL_S / 2)
    approvals.add("lamp", "{}")
    assert [one.tool for one in approvals.every()] == ["pump", "lamp"]
    clock.advance(STANDING_APPROVAL_S / 2)
    assert [one.tool for one in approvals.every()] == ["lamp"]


def test_a_revoked_one_is_asked_about_again_and_the_others_are_not(tmp_path: Path) -> None:
    approvals = StandingApprovals(tmp_path / "standing.json", SteppedClock())
    for tool in ("pump", "lamp"):
        approvals.add(tool, "{}")
    approvals.revoke([call_hash("pump", "{}")])
    assert [approvals.covers(tool, "{}") for tool in ("pump", "lamp")] == [False, True]
