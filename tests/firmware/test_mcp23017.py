"""A pin expander: outputs, inputs, and the wire that makes inputs of all its pins."""

from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure, until
from tests.firmware.driving import ENDS, FIRST, Driven, driven

EXPANDER_WRITE, EXPANDER_READ = 50, 51
CHIP: dict[str, Any] = {"pin": "PA11", "sda": "PA12", "reset": "PA8"}
VALVE = {**CHIP, "kind": "mcp23017", "name": "valve", "channel": 9, "lease_ms": 10_000}
RELAY = {**VALVE, "name": "fan", "channel": 0, "active_low": True}
DOOR = {**CHIP, "kind": "mcp23017in", "name": "door", "channel": 4}


def high(board: BoardSim) -> set[int]:
    """Which of its pins it drives high."""
    seen = [one["high"] for one in board.record() if one["event"] == "expander"]
    return {number for number in range(16) if seen and seen[-1] >> number & 1}


def switch(output: Driven, value: int) -> int:
    """What it answers, once the chip is set up."""
    output.renewed_until(lambda: not output.refusal(value)[0])
    return output.write(value)[0]


def seen(wire: Wire, at: int) -> int | str:
    try:
        return wire.call(EXPANDER_READ, bytes([FIRST + at]))[0]
    except Refused as refused:
        return refused.text


def shows(board: BoardSim, wire: Wire, wanted: set[int]) -> bool:
    return until(wire, lambda: high(board), wanted) == wanted


def test_outputs_and_inputs_of_one_chip(sensor_board: BoardSim) -> None:
    with driven(sensor_board, EXPANDER_WRITE, "B", VALVE, RELAY, DOOR) as valve:
        relay = Driven(valve.wire, EXPANDER_WRITE, "B", 1)
        assert switch(valve, 1) == 1
        # A relay that a low level switches is off while its pin is high
        assert shows(sensor_board, valve.wire, {9, 0})
        assert switch(relay, 1) == 1
        assert shows(sensor_board, valve.wire, {9})
        # Pulled up until something closes it
        assert until(valve.wire, lambda: seen(valve.wire, 2), 1) == 1
        change(sensor_board, "mcp23017", pins={"4": 0})
        assert until(valve.wire, lambda: seen(valve.wire, 2), 0) == 0
        change(sensor_board, "mcp23017", pins={})
        assert switch(valve, 0) == 0
        assert shows(sensor_board, valve.wire, set())
        assert switch(relay, 0) == 0
        assert shows(sensor_board, valve.wire, {0})


def test_a_pin_of_an_expander_belongs_to_one_entry(sensor_board: BoardSim) -> None:
    """It has one polarity: the second one would drive what the first calls off."""
    with driven(sensor_board, EXPANDER_WRITE, "B", RELAY, DOOR) as relay:
        assert switch(relay, 1) == 1
        for other in ({**RELAY, "active_low": False}, {**DOOR, "channel": 0}, DOOR):
            twice = {**other, "name": "other"}
            with pytest.raises(Refused, match=r"other: channel [04] of that chip is used twice"):
                configure(relay.wire, (RELAY, DOOR, twice))
        assert switch(relay, 0) == 0
        assert shows(sensor_board, relay.wire, {0})


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_switches_an_output_of_an_expander_off(
    sensor_board: BoardSim, end: str, lease_ms: int
) -> None:
    entry = {**VALVE, "lease_ms": max(1_000, lease_ms)}
    with driven(sensor_board, EXPANDER_WRITE, "B", entry) as valve:
        switch(valve, 1)
        assert shows(sensor_board, valve.wire, {9})
        valve.ended(end, lambda: not high(sensor_board))
        if end == "estop":
            assert valve.refusal(1)[0] == codec.UNSAFE_STATE


def test_a_stuck_loop_does_not_hold_an_output_of_an_expander(sensor_board: BoardSim) -> None:
    with driven(sensor_board, EXPANDER_WRITE, "B", VALVE) as valve:
        switch(valve, 1)
        sensor_board.order({"spin_ms": 1_200})
        assert shows(sensor_board, valve.wire, set())
        assert not [one for one in sensor_board.record() if one["event"] == "interrupt_fault"]


@pytest.mark.parametrize("end", ["lease", "estop"])
def test_every_end_comes_through_a_data_line_that_is_held_low(
    sensor_board: BoardSim, end: str
) -> None:
    """Zeros are what a chip of outputs alone has to answer, switched off or asked how it is."""
    outputs = [{**VALVE, "name": f"v{number}", "channel": number} for number in range(16)]
    for one in outputs:
        one["lease_ms"] = 1_000 if end == "lease" else 10_000
    with driven(sensor_board, EXPANDER_WRITE, "B", *outputs) as valve:
        switch(valve, 1)
        assert shows(sensor_board, valve.wire, {0})
        change(sensor_board, "mcp23017", holds_data=True)
        try:
            valve.ended(end, lambda: not high(sensor_board))
            held = (codec.IO, "something holds the bus")
            if end == "lease":
                assert until(valve.wire, lambda: valve.refusal(1), held) == held
        finally:
            change(sensor_board, "mcp23017", holds_data=False)


def test_an_expander_that_is_pulled_out_loses_power_or_is_shorted_is_told(
    sensor_board: BoardSim,
) -> None:
    with driven(sensor_board, EXPANDER_WRITE, "B", VALVE, DOOR) as valve:
        switch(valve, 1)
        change(sensor_board, "mcp23017", absent=True)
        gone = (codec.IO, "no MCP23017 answers at address 32")
        assert until(valve.wire, lambda: valve.refusal(1), gone) == gone
        assert seen(valve.wire, 1) == gone[1]
        change(sensor_board, "mcp23017", absent=False)
        assert until(valve.wire, lambda: valve.refusal(1), (0, "")) == (0, "")
        change(sensor_board, "mcp23017", loses_power=True)
        lost = (codec.IO, "the MCP23017 has lost its settings")
        assert until(valve.wire, lambda: valve.refusal(0), lost) == lost
        change(sensor_board, "mcp23017", shorted=[9])
        kept = (codec.IO, "the MCP23017 does not keep what it is told")
        assert until(valve.wire, lambda: valve.refusal(1), kept) == kept
        change(sensor_board, "mcp23017", shorted=[])


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**VALVE, "reset": ""}, "reset names a pin"),
        ({**VALVE, "address": 40}, "address is a whole number, 32 to 39"),
        ({**DOOR, "channel": 7}, "channels 7 and 15 of an MCP23017 are outputs only"),
        ({**DOOR, "lease_ms": 500}, "unknown option lease_ms"),
    ],
)
def test_options_of_an_expander_that_make_no_sense_are_refused_by_name(
    wire: Wire, entry: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [entry])
    assert said in refused.value.text
