"""An ultrasonic ranger: its driver in the real interpreter, and a part that behaves or does not."""

import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agent.link import frame as codec
from agent.link.configuration import hash_of_wire, wire_of
from agent.link.pin_settings import PinSettings
from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import MEASURE_LIMIT_S, change, configure, until

DISTANCE_READ = 35
INDEX = len(board_file("simulated").PINS)
RANGER: dict[str, Any] = {"name": "level", "kind": "hcsr04", "pin": "PB8", "echo": "PB9"}
IN_RANGE, OUT_OF_RANGE = 0, 1
# Sound covers it in 60 us: what an interpreter on a busy computer may be late
NEAR_MM = 10


@pytest.fixture
def ranger(own_board: BoardSim) -> Iterator[Wire]:
    """A session with a board that has the ranger, as often as it may."""
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [{**RANGER, "interval_ms": 60}])
        yield wire


def answer(wire: Wire) -> tuple[int, ...] | str:
    """State and distance, state alone, or why there is none."""
    try:
        told = wire.call(DISTANCE_READ, bytes([INDEX]))
    except Refused as refused:
        return refused.text
    return struct.unpack("<BH" if len(told) == 3 else "<B", told)


def settled(wire: Wire, wanted_mm: int) -> tuple[int, ...] | str:
    """The answer that is close to that distance, or the last one when the time is over."""
    until_s = time.monotonic() + MEASURE_LIMIT_S
    while True:
        told = answer(wire)
        if not isinstance(told, str) and len(told) == 2 and abs(told[1] - wanted_mm) <= NEAR_MM:
            return told
        if time.monotonic() >= until_s:
            return told
        wire.rest(0.05)


@pytest.mark.parametrize("millimetres", [25, 300, 850, 2500, 3900])
def test_a_distance_is_told_in_millimetres(
    ranger: Wire, own_board: BoardSim, millimetres: int
) -> None:
    own_board.set(distance=millimetres)
    state, measured_mm = settled(ranger, millimetres)
    assert state == IN_RANGE
    assert measured_mm == pytest.approx(millimetres, abs=NEAR_MM)


@pytest.mark.parametrize("millimetres", [5, 4500])
def test_out_of_range_is_a_state_of_its_own_without_a_distance(
    ranger: Wire, own_board: BoardSim, millimetres: int
) -> None:
    own_board.set(distance=millimetres)
    assert until(ranger, lambda: answer(ranger), (OUT_OF_RANGE,)) == (OUT_OF_RANGE,)
    own_board.set(distance=500)
    assert settled(ranger, 500)[0] == IN_RANGE


def test_an_echo_beyond_the_timeout_is_out_of_range(own_board: BoardSim) -> None:
    own_board.set(distance=3000)
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [{**RANGER, "timeout_ms": 10}])
        assert until(wire, lambda: answer(wire), (OUT_OF_RANGE,)) == (OUT_OF_RANGE,)
        own_board.set(distance=1000)
        assert settled(wire, 1000)[0] == IN_RANGE


def test_a_sensor_that_is_pulled_out_or_damaged_is_told_apart(
    ranger: Wire, own_board: BoardSim
) -> None:
    change(own_board, "hcsr04", absent=True)
    silent = "no HC-SR04 answers"
    assert until(ranger, lambda: answer(ranger), silent) == silent
    change(own_board, "hcsr04", absent=False)
    assert settled(ranger, 850)[0] == IN_RANGE
    own_board.set(distance=4500)
    assert until(ranger, lambda: answer(ranger), (OUT_OF_RANGE,)) == (OUT_OF_RANGE,)
    own_board.set(pb9=1)
    stuck = "the echo line of the HC-SR04 stays high"
    assert until(ranger, lambda: answer(ranger), stuck) == stuck
    own_board.set(pb9=0, distance=850)
    assert settled(ranger, 850)[0] == IN_RANGE


def test_it_measures_no_more_often_than_its_interval(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [{**RANGER, "interval_ms": 60_000}])
        first = settled(wire, 850)
        own_board.set(distance=300)
        wire.rest(0.5)
        assert answer(wire) == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"echo": ""}, "echo names a pin"),
        ({"echo": "PB8"}, "PB8 is used twice"),
        ({"timeout_ms": 61}, "timeout_ms is a whole number, 2 to 60"),
        ({"interval_ms": 59}, "interval_ms is a whole number, 60 to 60000"),
        ({"lease_ms": 100}, "unknown option lease_ms"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**RANGER, **options}])
    assert refused.value.code == codec.OUT_OF_RANGE
    assert said in refused.value.text


def test_the_settings_of_a_person_are_what_the_board_takes(own_board: BoardSim) -> None:
    pins = {"level": PinSettings(pin="PB8", kind="hcsr04", echo="PB9", interval_ms=200)}
    text = wire_of(pins)
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        wire.call(codec.METHOD_CONFIG_BEGIN, struct.pack("<I", len(text)) + hash_of_wire(text))
        wire.call(codec.METHOD_CONFIG_WRITE, bytes(4) + text)
        assert wire.call(codec.METHOD_CONFIG_COMMIT, hash_of_wire(text)) == b""
        assert settled(wire, 850)[0] == IN_RANGE
    with pytest.raises(ValueError, match="echo is missing"):
        PinSettings(pin="PB8", kind="hcsr04")
