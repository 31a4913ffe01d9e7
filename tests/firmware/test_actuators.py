"""PWM, servos and pixels: outputs with more values than two, held to a lease like the others."""

import struct

import pytest

from agent.link import frame as codec
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import (
    I2C_WRITE,
    PIXELS_WRITE,
    PWM_WRITE,
    RELEASED,
    SERVO_WRITE,
    SPI_TRANSFER,
    UART_WRITE,
    ask,
    events,
    refusal,
)


def pwm(wire: Wire, hz: int, duty: int) -> tuple[int, ...]:
    return struct.unpack("<HH", ask(wire, PWM_WRITE, "fan", struct.pack("<HH", hz, duty)))


def turn(wire: Wire, name: str, angle: int) -> int:
    (told,) = struct.unpack("<h", ask(wire, SERVO_WRITE, name, struct.pack("<h", angle)))
    return int(told)


def paint(wire: Wire, *given: int) -> int:
    return ask(wire, PIXELS_WRITE, "ring", bytes(given))[0]


def test_a_duty_and_a_frequency_reach_the_pin_and_are_read_back(
    bench: Wire, bench_board: BoardSim
) -> None:
    assert pwm(bench, 2000, 505) == (2000, 505)
    seen = events(bench_board, "duty", "fan")[-1]
    assert (seen["hz"], seen["duty"]) == (2000, 50.5)
    assert pwm(bench, 0, 1000) == (2000, 1000)


def test_a_duty_goes_back_to_its_safe_one_when_the_lease_ends(
    bench: Wire, bench_board: BoardSim
) -> None:
    pwm(bench, 1000, 900)
    bench.rest(0.6)
    seen = events(bench_board, "duty", "fan")[-2:]
    assert [one["duty"] for one in seen] == [90.0, 20.0]
    assert 350 <= int(str(seen[1]["ms"])) - int(str(seen[0]["ms"])) <= 450


@pytest.mark.parametrize(("hz", "duty"), [(0, 1001), (20_001, 0), (65_535, 65_535)])
def test_a_duty_or_frequency_beyond_its_limit_changes_nothing(
    bench: Wire, hz: int, duty: int
) -> None:
    pwm(bench, 1000, 300)
    code, _text = refusal(bench, PWM_WRITE, "fan", struct.pack("<HH", hz, duty))
    assert code == codec.OUT_OF_RANGE
    assert pwm(bench, 0, 300) == (1000, 300)


def test_an_emergency_stop_locks_everything_that_may_move_something(
    bench: Wire, bench_board: BoardSim
) -> None:
    pwm(bench, 1000, 900)
    turn(bench, "arm", 10)
    paint(bench, 0, 8, 9, 9, 9)
    bench.send(codec.ESTOP)
    try:
        assert refusal(bench, PWM_WRITE, "fan", bytes(4))[0] == codec.UNSAFE_STATE
        assert refusal(bench, SERVO_WRITE, "arm", bytes(2))[0] == codec.UNSAFE_STATE
        assert refusal(bench, PIXELS_WRITE, "ring", bytes([0, 1, 1, 1, 1]))[0] == codec.UNSAFE_STATE
        assert refusal(bench, I2C_WRITE, "bus", b"\x50\x01\x00")[0] == codec.UNSAFE_STATE
        assert refusal(bench, SPI_TRANSFER, "shift", b"\x01\x00")[0] == codec.UNSAFE_STATE
        assert refusal(bench, UART_WRITE, "gps", b"\x01a")[0] == codec.UNSAFE_STATE
        assert events(bench_board, "duty", "fan")[-1]["duty"] == 20.0
        assert events(bench_board, "duty", "arm")[-1]["duty"] == 0
        dark = events(bench_board, "pixels", "ring")[-1]
        assert dark["pixels"] == [[0, 0, 0]] * 8
    finally:
        bench.clear()


def test_duties_and_servos_go_safe_while_the_loop_is_stuck(
    bench: Wire, bench_board: BoardSim
) -> None:
    pwm(bench, 1000, 900)
    turn(bench, "arm", 90)
    at_ms = int(str(events(bench_board, "duty", "arm")[-1]["ms"]))
    bench_board.order({"spin_ms": 900})
    for name, safe in (("fan", 20.0), ("arm", 0)):
        # The first one after that is the interrupt's: the loop comes later
        after = [one for one in events(bench_board, "duty", name) if int(str(one["ms"])) > at_ms]
        assert after[0]["duty"] == safe
        assert int(str(after[0]["ms"])) - at_ms <= 600
    assert [one for one in bench_board.record() if one["event"] == "interrupt_fault"] == []


def test_pixels_go_dark_while_the_loop_is_stuck(bench: Wire, bench_board: BoardSim) -> None:
    paint(bench, 0, 8, 9, 9, 9)
    at_ms = int(str(events(bench_board, "pixels", "ring")[-1]["ms"]))
    bench_board.order({"spin_ms": 900})
    # The first one after that is the interrupt's: the loop comes later
    seen = events(bench_board, "pixels", "ring")
    after = [one for one in seen if int(str(one["ms"])) > at_ms]
    assert after[0]["pixels"] == [[0, 0, 0]] * 8
    assert int(str(after[0]["ms"])) - at_ms <= 600
    assert [one for one in bench_board.record() if one["event"] == "interrupt_fault"] == []
    bench.status()  # the loop has come around
    assert paint(bench, 0, 1, 9, 9, 9) == 1


def test_a_servo_turns_at_its_own_speed(bench: Wire, bench_board: BoardSim) -> None:
    turn(bench, "arm", 0)
    before = len(events(bench_board, "servo", "servo"))
    assert turn(bench, "arm", 60) == 60
    bench.rest(0.35)
    way = events(bench_board, "servo", "servo")[before:]
    assert [one["moving"] for one in way][-2:] == [True, False]
    assert way[-1]["angle"] == pytest.approx(60, abs=0.1)


def test_a_servo_is_released_when_the_lease_ends(bench: Wire, bench_board: BoardSim) -> None:
    turn(bench, "arm", 90)
    assert events(bench_board, "duty", "arm")[-1]["duty"] == pytest.approx(1.45 / 20 * 100, abs=0.1)
    bench.rest(0.6)
    assert events(bench_board, "duty", "arm")[-1]["duty"] == 0


def test_a_servo_may_have_a_safe_angle_and_a_range_of_its_own(bench: Wire) -> None:
    assert turn(bench, "gate", 90) == 90
    code, text = refusal(bench, SERVO_WRITE, "gate", struct.pack("<h", 91))
    assert (code, text) == (codec.OUT_OF_RANGE, "this servo turns 0 to 90 degrees")
    assert turn(bench, "gate", RELEASED) == RELEASED


@pytest.mark.parametrize("angle", [0, 1, 33, 89, 179, 180])
def test_every_angle_is_read_back_as_it_was_written(bench: Wire, angle: int) -> None:
    assert turn(bench, "arm", angle) == angle


def test_pixels_are_painted_in_ranges_and_go_dark_with_their_lease(
    bench: Wire, bench_board: BoardSim
) -> None:
    assert paint(bench, 0, 8, 0, 0, 0) == 0
    assert paint(bench, 0, 2, 200, 20, 2) == 2
    assert paint(bench, 7, 1, 0, 0, 9) == 3
    shown = [[200, 20, 2]] * 2 + [[0, 0, 0]] * 5 + [[0, 0, 9]]
    assert events(bench_board, "pixels", "ring")[-1]["pixels"] == shown
    bench.call(codec.METHOD_SAFE)
    assert events(bench_board, "pixels", "ring")[-1]["pixels"] == [[0, 0, 0]] * 8
    assert paint(bench, 1, 1, 5, 5, 5) == 1


def test_a_refused_paint_is_not_shown_later(bench: Wire, bench_board: BoardSim) -> None:
    bench.send(codec.ESTOP)
    assert refusal(bench, PIXELS_WRITE, "ring", bytes([0, 1, 77, 0, 0]))[0] == codec.UNSAFE_STATE
    bench.clear()
    paint(bench, 7, 1, 1, 1, 1)
    shown = [one["pixels"] for one in events(bench_board, "pixels", "ring")]
    assert [[0, 0, 0]] * 7 + [[1, 1, 1]] in shown
    assert not any(77 in each for pixels in shown for each in pixels)
