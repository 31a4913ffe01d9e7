"""A display: its driver in the real interpreter, and a part that shows text or stays dark."""

import struct
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure, until
from tests.firmware.sensing import FIRST, sensed

DISPLAY_WRITE = 44
CLIMATE_READ = 26
PANEL: dict[str, Any] = {"name": "panel", "kind": "ssd1306", "pin": "PA11", "sda": "PA12"}
ROOM: dict[str, Any] = {"name": "room", "kind": "sht3x", "pin": "PA11", "sda": "PA12"}
BLANK = " " * 16
ABSENT = "no SSD1306 answers at address 60"
# What fits into the 5 ms that a step may take, at 9 bits a byte and 100 kHz
PASS_BYTES = 55


def show(wire: Wire, line: int, text: str) -> str:
    """What is shown from that line on, or why nothing is."""
    said = text.encode()
    try:
        told = wire.call(DISPLAY_WRITE, bytes([FIRST, line, len(said)]) + said)
    except Refused as refused:
        return refused.text
    assert told[0] == len(told) - 1
    return told[1:].decode()


def lines(board: BoardSim) -> list[str]:
    """The lines that a person reads; none of a dark display."""
    seen = [one["lines"] for one in board.record() if one["event"] == "display"]
    return list(seen[-1]) if seen else []


def shows(wire: Wire, board: BoardSim, wanted: list[str]) -> bool:
    """Say if it shows that in the end."""
    return until(wire, lambda: lines(board), wanted) == wanted


def screen(*texts: str, height: int = 8) -> list[str]:
    return [*(text.ljust(16) for text in texts), *([BLANK] * (height - len(texts)))]


def test_lines_of_text_reach_the_display_and_nothing_else_does(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        wire = panel.wire
        show(wire, 0, "\n" * 8)
        # Dark until its memory has no noise in it any more
        assert shows(wire, sensor_board, screen())
        assert show(wire, 0, "Barnacle").startswith("Barnacle" + " " * 8)
        assert show(wire, 2, "pump on for 20 seconds")[:32] == "pump on for 20 seconds".ljust(32)
        wanted = screen("Barnacle", "", "pump on for 20 s", "econds")
        assert shows(wire, sensor_board, wanted)
        # Shorter text clears its own line, and no other
        show(wire, 2, "off\nwell")
        wanted = screen("Barnacle", "", "off", "well")
        assert shows(wire, sensor_board, wanted)
        show(wire, 0, " ")
        assert shows(wire, sensor_board, screen("", *wanted[1:4]))


def test_letters_that_it_does_not_have_are_one_sign_each(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        assert show(panel.wire, 7, "Kürbis 21 °C\t水")[:16] == "K?rbis 21 ?C??  "
        wanted = "K?rbis 21 ?C??  "
        until(panel.wire, lambda: lines(sensor_board)[-1:], [wanted])
        assert lines(sensor_board)[-1] == wanted


def test_a_text_beyond_the_last_line_is_cut_there(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        assert show(panel.wire, 7, "x" * 40) == "x" * 16
        assert show(panel.wire, 8, "x") == "this display has 8 lines"
        assert show(panel.wire, 0, "") == "1 to 128 bytes"


def test_a_low_display_has_four_lines(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [{**PANEL, "height": 32}])
        # The part is 64 high and stays dark with these settings: what counts is the text
        assert show(wire, 3, "four") == "four".ljust(16)
        assert show(wire, 4, "five") == "this display has 4 lines"


def test_no_pass_of_the_loop_sends_more_than_it_has_time_for(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        show(panel.wire, 0, "#" * 128)
        wanted = ["#" * 16] * 8
        assert shows(panel.wire, sensor_board, wanted)
    most = [one["most_bytes"] for one in sensor_board.record() if one["event"] == "display"][-1]
    assert 0 < most <= PASS_BYTES


def test_a_sensor_on_its_bus_measures_as_before(sensor_board: BoardSim) -> None:
    sensor_board.set(air_temperature=20.0, humidity=50.0)
    with sensed(sensor_board, CLIMATE_READ, "hH", ROOM, PANEL) as room:
        for number in range(20):
            said = f"number {number}".encode()
            room.wire.call(DISPLAY_WRITE, bytes([FIRST + 1, 0, len(said)]) + said)
            room.near(2000, 5000)


def test_one_that_is_pulled_out_is_told_and_shows_it_all_again(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        wire = panel.wire
        show(wire, 0, "\nkept" + "\n" * 7)
        wanted = screen("", "kept")
        assert shows(wire, sensor_board, wanted)
        change(sensor_board, "ssd1306", absent=True)
        assert until(wire, lambda: show(wire, 1, "kept"), ABSENT) == ABSENT
        before = lines(sensor_board)
        change(sensor_board, "ssd1306", absent=False, loses_power=True)
        assert shows(wire, sensor_board, [])
        # With everything that it took before
        assert shows(wire, sensor_board, before)


def test_one_that_lost_its_power_for_a_moment_is_told_everything_again(
    sensor_board: BoardSim,
) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        show(panel.wire, 0, "\nstill here" + "\n" * 7)
        wanted = screen("", "still here")
        assert shows(panel.wire, sensor_board, wanted)
        change(sensor_board, "ssd1306", loses_power=True)
        assert shows(panel.wire, sensor_board, [])
        assert shows(panel.wire, sensor_board, wanted)


def test_one_that_stops_in_the_middle_of_a_transfer_is_told(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        change(sensor_board, "ssd1306", takes_bytes=3)
        try:
            assert until(panel.wire, lambda: show(panel.wire, 0, "x"), ABSENT) == ABSENT
        finally:
            change(sensor_board, "ssd1306", takes_bytes=100_000)


@pytest.mark.parametrize("held", ["holds_bus", "holds_data"])
def test_a_bus_that_somebody_holds_is_told_and_nothing_hangs(
    own_board: BoardSim, held: str
) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [{**PANEL, "pin": "PB6", "sda": "PB7"}])
        change(own_board, "eeprom", **{held: True})
        text = "something holds the bus"
        assert until(wire, lambda: show(wire, 0, "x"), text) == text
        assert not [one for one in own_board.record() if one["event"] == "stall"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"height": 48}, "height is 32 or 64"),
        ({"height": 65}, "height is a whole number, 32 to 64"),
        ({"frequency": 10_000}, "frequency is a whole number, 100000 to 400000"),
        ({"sda": ""}, "sda names a pin"),
        ({"safe": 0}, "unknown option safe"),
    ],
)
def test_options_of_a_display_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**PANEL, **options}])
    assert refused.value.code == codec.OUT_OF_RANGE
    assert said in refused.value.text


def test_arguments_that_end_too_soon_are_refused(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, DISPLAY_WRITE, "", PANEL) as panel:
        for cut in (b"", struct.pack("<BB", 0, 5), b"\x00\x05abc"):
            with pytest.raises(Refused) as refused:
                panel.wire.call(DISPLAY_WRITE, bytes([FIRST]) + cut)
            assert refused.value.code == codec.BAD_REQUEST
