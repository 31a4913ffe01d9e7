"""The power is cut in the operations of a board's flash while the firmware writes to it."""

import pytest

from firmware.host import interpreter, power_cuts
from scripts.lib.bench import board_cuts, played_board
from tests.fakes.board_sim import unavailable_reason

WHOLE = ("commit", "stop")


@pytest.mark.parametrize(
    ("board", "every", "is_frozen"),
    [
        ("nucleo_f411re", 3, False),
        ("pyboard_v11", 5, False),
        ("nucleo_wb55", 1, False),
        ("nucleo_f401re", 1, True),
        ("nucleo_wb55", 1, True),
    ],
)
def test_no_cut_while_something_is_kept_costs_the_configuration_or_the_stop(
    board: str, every: int, *, is_frozen: bool
) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    commit, stop = power_cuts.trials(board, WHOLE, every, is_frozen=is_frozen)
    for found in (commit, stop):
        assert found.erases == 1
        assert found.cuts >= 8
        assert found.starts == found.cuts
        assert found.configured == found.cuts
    # A stop is found whenever it was begun: what is torn counts as one
    assert stop.stopped == stop.cuts
    assert commit.configuration_new >= 1


@pytest.mark.parametrize(("board", "every"), [("pyboard_v11", 7), ("nucleo_wb55", 79)])
def test_no_cut_in_an_update_stops_a_board_from_starting(board: str, every: int) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    (found,) = power_cuts.trials(board, ("update",), every)
    assert found.cuts >= 9
    assert found.starts == found.configuration_old == found.cuts


def test_no_cut_in_the_first_start_of_a_frozen_board_stops_it_from_starting() -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    (found,) = power_cuts.trials("nucleo_f401re", ("divide",), is_frozen=True)
    assert found.erases == 4
    assert found.starts == found.cuts >= 99
    # An older firmware had stopped it
    assert found.stopped == found.cuts


@pytest.mark.parametrize("board", ["nucleo_f411re", "nucleo_wb55"])
def test_no_cut_while_the_flash_is_divided_anew_costs_the_stop(board: str) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    for found in power_cuts.trials(board, power_cuts.FORMATS, 3):
        assert found.starts == found.cuts >= 25
        assert found.stopped == found.cuts


ON, OFF, LIT = (
    {"event": "pin", "pin": pin, "level": level}
    for pin, level in (("PA8", 1), ("PA8", 0), ("PB5", 1))
)
ERASE, BOOT = {"event": "erase"}, {"event": "boot"}


@pytest.mark.parametrize(
    ("events", "was_on"),
    [
        ([ON, OFF, ERASE, BOOT, LIT], False),
        ([ON, ERASE], True),
        ([ON, BOOT, ERASE, OFF], False),
        ([OFF, ERASE, BOOT, ON], True),
    ],
)
def test_an_output_that_is_on_in_an_erase_or_after_a_cut_is_found(
    events: list[dict[str, object]], *, was_on: bool
) -> None:
    assert played_board.was_on(events, "PB5") is was_on


@pytest.mark.timeout(600)  # the times are real
@pytest.mark.parametrize("board", ["nucleo_wb55", "nucleo_f411re"])
def test_a_played_board_that_is_cut_starts_with_outputs_safe(board: str) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    if not interpreter.has_words_of_32_bits(interpreter.find()):
        pytest.skip("the boards' memory is modelled with words of 32 bits only")
    for tried in board_cuts.attempts(board, ("commit", "stop"), "typical", 3):
        assert len(tried.outcomes) == 3
        for found in tried.outcomes:
            assert found.is_configured
            assert not found.was_on
            assert found.is_stopped or tried.action == "commit"
