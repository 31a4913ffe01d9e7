"""F12: the host hangs or dies. A thousand times: scripts/bench-link --deadman 1000."""

import pytest

from scripts.lib.bench import deadman

TRIALS = 8


@pytest.mark.usefixtures("micropython_command")
def test_outputs_are_safe_in_time_after_every_end_of_the_agent() -> None:
    trials = list(deadman.run(TRIALS, seed=12))
    assert {trial.blow for trial in trials} == set(deadman.BLOWS)
    assert [trial for trial in trials if trial.is_missed] == []
