from agent.hardware.board_report import NONE_TEXT, board_report
from tests.fakes.board import FakeBoard


def test_a_board_is_told_with_its_pins() -> None:
    text = board_report([FakeBoard()])
    assert "- led (PC13): in, out" in text
    assert "simulated" in text


def test_a_board_that_is_away_says_so_and_what_is_wired_to_it() -> None:
    board = FakeBoard()
    board.unplug()
    text = board_report([board])
    assert text.startswith(f"{board.name}: absent")
    assert "- pump" in text


def test_without_a_board_there_is_none() -> None:
    assert board_report([]) == NONE_TEXT
