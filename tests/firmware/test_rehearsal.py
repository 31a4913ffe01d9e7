"""Rehearsed reflexes act as those of the firmware in MicroPython, pass for pass."""

import pytest

from agent.readings import rule_code
from scripts.lib.bench.rehearsal_cases import acts_of_board, random_case
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
