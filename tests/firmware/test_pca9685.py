"""A PWM expander: its channels, and the wire that takes all of them down."""

import struct
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure, until
from tests.firmware.driving import ENDS, Driven, driven

CHANNEL_WRITE = 49
CHIP: dict[str, Any] = {
    "kind": "pca9685",
    "pin": "PA11",
    "sda": "PA12",
    "oe": "PA9",
    "address": 0x50,
    "lease_ms": 10_000,
}
LAMP = {**CHIP, "name": "lamp", "channel": 3}
ARM = {**CHIP, "name": "arm", "channel": 15, "least_duty": 250, "most_duty": 1_250}
ABSENT = "no PCA9685 answers at address 80"


def duties(board: BoardSim) -> dict[int, int]:
    """What is not off, in steps of the chip."""
    seen = [one for one in board.record() if one["event"] == "channels"]
    return {at: steps for at, steps in enumerate(seen[-1]["duties"]) if steps} if seen else {}


def told(output: Driven, duty: int) -> int:
    """The duty that it answers, once the chip is set up."""

    def is_ready() -> bool:
        code, text = output.refusal(duty)
        assert code in {0, codec.BUSY_CODE}, text
        return not code

    output.renewed_until(is_ready)
    (answered,) = struct.unpack("<H", output.write(duty))
    return int(answered)


def shows(board: BoardSim, wire: Wire, wanted: dict[int, int]) -> bool:
    return until(wire, lambda: duties(board), wanted) == wanted


def test_channels_of_one_chip_have_what_they_are_told(sensor_board: BoardSim) -> None:
    with driven(sensor_board, CHANNEL_WRITE, "H", LAMP, ARM) as lamp:
        arm = Driven(lamp.wire, CHANNEL_WRITE, "H", 1)
        assert told(lamp, 5_000) == 5_000
        assert told(arm, 750) == pytest.approx(750, abs=3)
        assert shows(sensor_board, lamp.wire, {3: 2048, 15: 307})
        assert told(lamp, 10_000) == 10_000
        assert shows(sensor_board, lamp.wire, {3: 4096, 15: 307})
        # One that goes off leaves the others alone
        assert told(lamp, 0) == 0
        assert shows(sensor_board, lamp.wire, {15: 307})
        assert told(arm, 0) == 0
        assert shows(sensor_board, lamp.wire, {})
    hz = [one["hz"] for one in sensor_board.record() if one["event"] == "channels"][-1]
    assert hz == 50


@pytest.mark.parametrize("duty", [249, 1_251, 10_001, 65_535])
def test_a_duty_beyond_its_limits_changes_nothing(sensor_board: BoardSim, duty: int) -> None:
    with driven(sensor_board, CHANNEL_WRITE, "H", ARM) as arm:
        text = "least_duty and most_duty of this channel forbid it"
        assert arm.refusal(duty) == (codec.OUT_OF_RANGE, text)
        assert shows(sensor_board, arm.wire, {})


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_takes_a_channel_down(sensor_board: BoardSim, end: str, lease_ms: int) -> None:
    entry = {**LAMP, "lease_ms": max(1_000, lease_ms)}
    with driven(sensor_board, CHANNEL_WRITE, "H", entry) as lamp:
        told(lamp, 5_000)
        lamp.ended(end, lambda: not duties(sensor_board))
        if end == "estop":
            assert lamp.refusal(5_000)[0] == codec.UNSAFE_STATE


def test_a_loop_that_is_stuck_is_no_way_around_the_wire(sensor_board: BoardSim) -> None:
    with driven(sensor_board, CHANNEL_WRITE, "H", LAMP) as lamp:
        told(lamp, 5_000)
        before = len(sensor_board.record())
        sensor_board.order({"spin_ms": 1_200})
        lamp.wire.rest(0.2)
        since = sensor_board.record()[before:]
    # No pass looked after the bus, and OE went up all the same
    assert [one["event"] for one in since if one["event"] == "interrupt_fault"] == []
    assert not duties(sensor_board)


def test_one_that_loses_its_power_stays_off_until_it_is_told_again(
    sensor_board: BoardSim,
) -> None:
    with driven(sensor_board, CHANNEL_WRITE, "H", LAMP) as lamp:
        told(lamp, 5_000)
        change(sensor_board, "pca9685", loses_power=True)
        lamp.renewed_until(lambda: not duties(sensor_board))
        lamp.wire.rest(0.5)
        assert not duties(sensor_board)
        lost = (codec.IO, "the PCA9685 has lost its settings")
        assert until(lamp.wire, lambda: lamp.refusal(5_000), lost) == lost
        assert until(lamp.wire, lambda: lamp.refusal(5_000), (0, "")) == (0, "")
        assert shows(sensor_board, lamp.wire, {3: 2048})


def test_one_that_is_pulled_out_or_worn_is_told(sensor_board: BoardSim) -> None:
    with driven(sensor_board, CHANNEL_WRITE, "H", LAMP) as lamp:
        told(lamp, 5_000)
        change(sensor_board, "pca9685", absent=True)
        gone = (codec.IO, ABSENT)
        assert until(lamp.wire, lambda: lamp.refusal(5_000), gone) == gone
        change(sensor_board, "pca9685", absent=False)
        assert until(lamp.wire, lambda: lamp.refusal(5_000), (0, "")) == (0, "")
        change(sensor_board, "pca9685", is_worn=True)
        worn = (codec.IO, "the PCA9685 does not keep what it is told")
        assert lamp.refusal(2_500) == worn
        assert shows(sensor_board, lamp.wire, {})
        change(sensor_board, "pca9685", is_worn=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"oe": ""}, "oe names a pin"),
        ({"channel": 16}, "channel is a whole number, 0 to 15"),
        ({"safe": 1}, "safe is a whole number, 0 to 0"),
        ({"least_duty": 2, "most_duty": 1}, "most_duty is not less than least_duty"),
    ],
)
def test_options_of_a_channel_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**LAMP, **options}])
    assert said in refused.value.text


@pytest.mark.parametrize("options", [{"oe": "PA8"}, {"pulse_hz": 60}])
def test_channels_of_one_chip_have_one_wire_and_one_frequency(
    wire: Wire, options: dict[str, Any]
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [LAMP, {**ARM, **options}])
    assert "another entry of that chip says otherwise: compare oe" in refused.value.text


def test_a_channel_belongs_to_one_entry(sensor_board: BoardSim) -> None:
    """Each would switch the other past its limits, and end what the other holds."""
    lamp = {**LAMP, "channel": 5}
    with driven(sensor_board, CHANNEL_WRITE, "H", lamp) as output:
        told(output, 5_000)
        with pytest.raises(Refused, match="pump: channel 5 of that chip is used twice"):
            configure(output.wire, (lamp, {**lamp, "name": "pump", "max_on_ms": 5_000}))
        assert told(output, 5_000) == 5_000
        assert shows(sensor_board, output.wire, {5: 2048})


@pytest.mark.parametrize("is_first", [True, False])
def test_another_kind_at_the_address_of_a_chip_is_refused(
    sensor_board: BoardSim, *, is_first: bool
) -> None:
    """Both come with address 64, and an INA219's settings invert the outputs of a PCA9685."""
    supply = {"name": "supply", "kind": "ina219", "pin": "PA11", "sda": "PA12"}
    lamp = {**LAMP, "address": 64}
    entries = (supply, lamp) if is_first else (lamp, supply)
    with driven(sensor_board, CHANNEL_WRITE, "H", ARM) as arm:
        with pytest.raises(Refused, match="lamp: address 64 is taken by supply"):
            configure(arm.wire, entries)
        configure(arm.wire, (lamp, {**supply, "address": 65}))
        configure(arm.wire, (lamp, {**supply, "pin": "PB6", "sda": "PB7"}))


def test_a_refused_configuration_leaves_no_trace_of_a_chip(sensor_board: BoardSim) -> None:
    scale = {"name": "scale", "kind": "hx711", "pin": "PB3", "data": "PB4", "gain": 100}
    # A channel that no other test has, whose chip begins anew
    glow = {**LAMP, "channel": 7}
    with driven(sensor_board, CHANNEL_WRITE, "H", glow) as lamp:
        told(lamp, 5_000)
        with pytest.raises(Refused, match="scale: gain is 32, 64 or 128"):
            configure(lamp.wire, (scale, glow))
        told(lamp, 5_000)
        # It is alone on its chip, and may say otherwise
        configure(lamp.wire, ({**glow, "pulse_hz": 200},))
        told(lamp, 5_000)
    hz = [one["hz"] for one in sensor_board.record() if one["event"] == "channels"][-1]
    assert hz == pytest.approx(200, abs=4)
