"""What is behind the pins of our boards, against their board files."""

import pytest

from agent.link.board_peripherals import BOARDS, channels, uarts
from firmware.host.bundle import board_file, board_names

FILES = {board.NAME: board for board in map(board_file, board_names())}


def test_every_board_but_the_simulated_one_is_known() -> None:
    assert set(BOARDS) == set(FILES) - {"simulated"}
    assert channels("other") == uarts("other") == {}


@pytest.mark.parametrize("name", BOARDS)
def test_each_pin_that_drives_a_pwm_has_a_channel(name: str) -> None:
    board = FILES[name]
    pins = {pin for pin, uses in board.USABLE.items() if "pwm" in uses.split()}
    assert set(channels(name)) == pins
    # A timer of its own is what the dead man's handle needs
    assert str(board.DEADMAN_TIMER) not in {timer for timer, _channel in channels(name).values()}


@pytest.mark.parametrize("name", BOARDS)
def test_the_link_is_no_uart_of_a_configuration(name: str) -> None:
    kind, number, _baudrate = FILES[name].LINK
    assert kind == "usb" or str(number) not in uarts(name)
    lines = [pin for both in uarts(name).values() for pin in both]
    assert len(lines) == len(set(lines))


def test_pins_of_one_channel_are_known_as_such() -> None:
    alike = [pin for pin, one in channels("nucleo-f411re").items() if one == ("3", "1")]
    assert alike == ["PA6", "PB4", "PC6"]
    assert uarts("pyboard-v1.1")["1"] == ("PB6", "PB7")
