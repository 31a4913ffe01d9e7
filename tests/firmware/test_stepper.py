"""A stepper: it goes where it is told, between its stops, and every end is a driver that is off."""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure, until
from tests.firmware.driving import ENDS, FIRST, Driven, driven

MOVE, HOME, RELEASE, READ = 45, 46, 47, 48
RELEASED, HOLDING, MOVING, HOMING, MET, NOT_FOUND = range(6)
# Not faster: a simulated beat is a turn of the interpreter's threads
SLIDE: dict[str, Any] = {
    "name": "slide",
    "kind": "stepper",
    "pin": "PA8",
    "direction": "PA9",
    "enable": "PA10",
    "low_stop": "PB8",
    "high_stop": "PB9",
    "travel": 60,
    "speed": 250,
    "acceleration": 20_000,
    "home_speed": 100,
    "lease_ms": 10_000,
}
LOST = "home it first: it does not know where it is"


class Told(NamedTuple):
    """What the board says of it."""

    enabled: int
    state: int
    homed: int
    position: int


class Slide:
    """The motor of the first entry."""

    def __init__(self, output: Driven) -> None:
        self.output = output

    def call(self, method: int, *values: int) -> Told:
        packed = struct.pack("<" + "i" * len(values), *values)
        told = self.output.wire.call(method, bytes([FIRST]) + packed)
        return Told(*struct.unpack("<BBBi", told))

    def refusal(self, method: int, *values: int) -> tuple[int, str]:
        try:
            self.call(method, *values)
        except Refused as refused:
            return refused.code, refused.text
        return 0, ""

    def settled(self) -> Told:
        """What it says once it stands."""

        def stands() -> bool:
            return self.call(READ).state not in {MOVING, HOMING}

        self.output.renewed_until(stands)
        return self.call(READ)


@pytest.fixture
def slide(sensor_board: BoardSim) -> Iterator[Slide]:
    """A motor that is not homed, somewhere on its way."""
    change(sensor_board, "stepper", cut=False, welded=False, slips=False, is_at=12)
    with driven(sensor_board, MOVE, "i", SLIDE) as output:
        yield Slide(output)
        configure(output.wire, ())


def at(board: BoardSim) -> tuple[int, bool]:
    """Where the motor really is, and whether its driver is on."""
    seen = [one for one in board.record() if one["event"] == "stepper"]
    return seen[-1]["at"], seen[-1]["on"]


def crashes(board: BoardSim) -> int:
    return int([one for one in board.record() if one["event"] == "stepper"][-1]["crashes"])


def test_it_does_not_move_before_it_has_been_homed(slide: Slide) -> None:
    assert slide.call(READ) == (0, RELEASED, 0, 0)
    assert slide.refusal(MOVE, 50) == (codec.BUSY_CODE, LOST)
    assert slide.call(READ).enabled == 0


def test_it_homes_to_its_low_stop_and_goes_where_it_is_told(
    slide: Slide, sensor_board: BoardSim
) -> None:
    assert slide.call(HOME)[:2] == (1, HOMING)
    assert slide.refusal(MOVE, 10) == (codec.BUSY_CODE, "it is looking for its end stop")
    assert slide.settled() == (1, HOLDING, 1, 0)
    # A step away from where its contact opens
    wire = slide.output.wire
    assert until(wire, lambda: at(sensor_board), (1, True)) == (1, True)
    for position in (40, 30, 60, 0, 3):
        assert slide.call(MOVE, position).state == MOVING
        assert slide.settled() == (1, HOLDING, 1, position)
        assert until(wire, lambda: at(sensor_board)[0], position + 1) == position + 1
    assert slide.call(RELEASE) == (0, RELEASED, 1, 3)
    assert until(wire, lambda: at(sensor_board), (4, False)) == (4, False)
    # It has not been moved: it still knows where it is
    slide.call(MOVE, 20)
    assert slide.settled().position == 20
    assert crashes(sensor_board) == 0


def test_another_target_on_the_way_turns_it_around_and_loses_no_step(
    slide: Slide, sensor_board: BoardSim
) -> None:
    slide.call(HOME)
    slide.settled()
    slide.call(MOVE, 55)
    slide.output.renewed_until(lambda: slide.call(READ).position > 15)
    slide.call(MOVE, 10)
    assert slide.settled() == (1, HOLDING, 1, 10)
    assert until(slide.output.wire, lambda: at(sensor_board)[0], 11) == 11


def test_beyond_its_travel_it_does_not_go(slide: Slide) -> None:
    for position in (-1, 61, 2**31 - 1, -(2**31)):
        code, text = slide.refusal(MOVE, position)
        assert (code, text) == (codec.OUT_OF_RANGE, "this stepper goes 0 to 60 steps")
    assert slide.call(READ).enabled == 0


def test_a_stop_that_is_met_ends_a_move_and_the_position_is_not_trusted(
    slide: Slide, sensor_board: BoardSim
) -> None:
    slide.call(HOME)
    slide.settled()
    # Somebody pushed it: the other end is nearer than it thinks
    change(sensor_board, "stepper", is_at=55)
    slide.call(MOVE, 40)
    told = slide.settled()
    assert told[:3] == (1, MET, 0)
    assert at(sensor_board)[0] == 65
    assert crashes(sensor_board) == 0
    assert slide.refusal(MOVE, 10) == (codec.BUSY_CODE, LOST)
    # Away from it is possible
    slide.call(HOME)
    assert slide.settled() == (1, HOLDING, 1, 0)


def test_a_broken_wire_of_a_stop_is_a_stop(slide: Slide, sensor_board: BoardSim) -> None:
    slide.call(HOME)
    slide.settled()
    change(sensor_board, "stepper", cut=True)
    before = at(sensor_board)[0]
    slide.call(MOVE, 50)
    assert slide.settled().state == MET
    assert at(sensor_board)[0] == before
    # Nor does homing go on for ever
    slide.call(HOME)
    assert slide.settled().state == NOT_FOUND
    change(sensor_board, "stepper", cut=False)


def test_a_motor_that_does_not_turn_is_told(slide: Slide, sensor_board: BoardSim) -> None:
    change(sensor_board, "stepper", slips=True)
    slide.call(HOME)
    assert slide.settled()[:3] == (1, NOT_FOUND, 0)


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_stops_a_stepper_and_switches_it_off(
    sensor_board: BoardSim, end: str, lease_ms: int
) -> None:
    change(sensor_board, "stepper", cut=False, welded=False, slips=False, is_at=12)
    slow = {**SLIDE, "speed": 20, "lease_ms": max(400, lease_ms)}
    with driven(sensor_board, MOVE, "i", slow) as output:
        moving = Slide(output)
        moving.call(HOME)
        moving.settled()
        moving.call(MOVE, 50)
        output.wire.rest(0.1)
        assert at(sensor_board)[1]
        output.ended(end, lambda: not at(sensor_board)[1])
        if end == "estop":
            assert moving.refusal(MOVE, 50)[0] in {codec.UNSAFE_STATE, codec.BUSY_CODE}
            assert moving.refusal(HOME)[0] == codec.UNSAFE_STATE
        if end != "silence":
            # It was stopped on its way: where it is has to be found again
            assert moving.call(READ)[1:3] == (RELEASED, 0)
        stands = at(sensor_board)
        output.wire.rest(0.3)
        assert at(sensor_board) == stands
    assert not [one for one in sensor_board.record() if one["event"] == "interrupt_fault"]


def test_without_a_stop_it_is_at_0_where_it_stands(sensor_board: BoardSim) -> None:
    change(sensor_board, "stepper", slips=False, is_at=10)
    free = {name: value for name, value in SLIDE.items() if not name.endswith("_stop")}
    with driven(sensor_board, MOVE, "i", free) as output:
        moving = Slide(output)
        assert moving.call(READ)[2:] == (1, 0)
        moving.call(MOVE, 50)
        assert moving.settled() == (1, HOLDING, 1, 50)
        assert until(output.wire, lambda: at(sensor_board)[0], 60) == 60
        moving.call(HOME)
        assert moving.settled() == (1, HOLDING, 1, 0)


@pytest.mark.parametrize("with_stops", [True, False])
def test_a_refused_homing_leaves_what_it_knows(sensor_board: BoardSim, *, with_stops: bool) -> None:
    change(sensor_board, "stepper", cut=False, welded=False, slips=False, is_at=10)
    entry = {name: value for name, value in SLIDE.items() if not name.endswith("_stop")}
    with driven(sensor_board, MOVE, "i", SLIDE if with_stops else entry) as output:
        moving = Slide(output)
        moving.call(HOME)
        moving.settled()
        moving.call(MOVE, 40)
        moving.settled()
        output.wire.send(codec.ESTOP)
        assert moving.refusal(HOME)[0] == codec.UNSAFE_STATE
        output.wire.clear()
        # Or its next way would go beyond its travel
        assert moving.call(READ) == (0, RELEASED, 1, 40)


def test_two_steppers_have_two_timers(sensor_board: BoardSim) -> None:
    """With one timer the first would stand still with its driver on, and say that it moves."""
    other = {"name": "lift", "kind": "stepper", "pin": "PB3", "direction": "PB4", "enable": "PB5"}
    with driven(sensor_board, MOVE, "i", SLIDE) as output:
        with pytest.raises(Refused, match="lift: timer 7 turns another stepper: take another"):
            configure(output.wire, (SLIDE, other))
        configure(output.wire, (SLIDE, {**other, "timer": 4}))
        # One that is gone leaves its own to the next
        configure(output.wire, ({**other, "timer": 7},))
        configure(output.wire, (SLIDE,))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timer": 1}, "timer 1 looks for a silent Pi: take another"),
        ({"timer": 18}, "timer is a whole number, 1 to 17"),
        ({"enable": ""}, "enable names a pin"),
        ({"low_stop": "x"}, "low_stop names a pin"),
        ({"high_stop": "PB8"}, "PB8 is used twice"),
        ({"travel": 0}, "travel is a whole number, 1 to 1000000"),
        ({"speed": 2_001}, "speed is a whole number, 20 to 2000"),
    ],
)
def test_options_of_a_stepper_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**SLIDE, **options}])
    assert said in refused.value.text
