"""Rehearsed reflexes act as those of the firmware in MicroPython, pass for pass."""

import pytest

from agent.readings import rule_code
from scripts.lib.bench.rehearsal_cases import acts_of_board, ordered_case, random_case
from tests.fakes.board_sim import unavailable_reason

# The benchmark looks at 200; these are short, and one has many rules
SEEDS = (0, 1, 3, 4)


async def test_the_acts_are_those_of_the_board() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    cases = [random_case(seed) | {"length_ms": 20_000} for seed in SEEDS]
    seen = acts_of_board(cases)
    assert sum(len(one["acts"]) for one in seen)
    for case, board in zip(cases, seen, strict=True):
        found = await rule_code.run("virtual_board", case, None)
        assert (found["acts"], found["rules"]) == (board["acts"], board["rules"])


async def test_orders_come_to_what_they_come_to_on_the_board() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    cases = [ordered_case(seed) | {"length_ms": 40_000} for seed in range(12)]
    seen = acts_of_board(cases)
    assert any(code for one in seen for *_, code, _pin in one["orders"])
    for case, board in zip(cases, seen, strict=True):
        found = await rule_code.run("virtual_board", case, None)
        told = (found["orders"], found["acts"], found["rules"])
        assert told == (board["orders"], board["acts"], board["rules"])


async def test_an_output_that_the_pi_holds_for_long_takes_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A busy machine takes its time, but no pass for each hundredth of a second of a month
    monkeypatch.setattr(rule_code, "TIMEOUT_S", 100.0)
    hour_ms = 3_600_000
    orders = [
        {"at_ms": at, "index": 2, "value": 1, "for_ms": hour_ms // 2}
        for at in range(0, 720 * hour_ms, hour_ms)
    ]
    case = ordered_case(0) | {"length_ms": 720 * hour_ms, "orders": orders}
    found = await rule_code.run("virtual_board", case, None)
    lengths = {end - begin for _, begin, end, *_ in found["orders"][1:]}
    assert lengths == {hour_ms // 2}
