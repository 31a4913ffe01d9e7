"""The power is cut in the operations of a board's flash while the firmware writes to it."""

import pytest

from firmware.host import power_cuts
from tests.fakes.board_sim import unavailable_reason

# A sector for what is kept: one cut in the middle of its erase or before its own blocks loses it
SHARED = ("nucleo_f401re", "nucleo_f411re")


@pytest.mark.parametrize(("board", "every"), [("nucleo_f411re", 3), ("nucleo_wb55", 1)])
def test_no_cut_while_something_is_kept_stops_a_board_from_starting(board: str, every: int) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    commit, stop = power_cuts.trials(board, ("commit", "stop"), every)
    for found in (commit, stop):
        assert found.erases == 1
        assert found.cuts >= 9
        assert found.starts == found.cuts
    # A stop is found whenever it was begun: what is torn counts as one
    assert stop.stopped == stop.cuts
    assert commit.configuration_new >= 1
    if board not in SHARED:
        assert commit.configured == commit.cuts
