"""A motor behind an H-bridge: never both directions, and every end is a stop."""

import struct
from typing import Any

import pytest

from agent.link import frame as codec
from tests.fakes.board_sim import BoardSim
from tests.firmware.driving import ENDS, Driven, driven

MOTOR_WRITE = 42
# Two pins that the simulated board records by the names of its own
GATE: dict[str, Any] = {
    "name": "gate",
    "kind": "motor",
    "pin": "PA6",
    "forward": "PB0",
    "backward": "PB10",
    "lease_ms": 10_000,
}
NAMES = {"pump": "forward", "d2": "backward", "gate": "enable"}


def turn(motor: Driven, speed: int) -> int:
    (told,) = struct.unpack("<h", motor.write(speed))
    return int(told)


def history(board: BoardSim) -> list[tuple[float, int, int]]:
    """Duty and both directions after every change since the start of the board."""
    levels = {"enable": 0.0, "forward": 0, "backward": 0}
    found = []
    for event in board.record():
        line = NAMES.get(str(event.get("name")))
        if line and event["event"] in {"pin", "duty"}:
            levels[line] = event["duty"] if line == "enable" else event["level"]
            found.append((levels["enable"], int(levels["forward"]), int(levels["backward"])))
    return found


def test_speed_and_direction_reach_the_bridge_and_are_read_back(sensor_board: BoardSim) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", GATE) as gate:
        for speed, shown in ((505, (50.5, 1, 0)), (-1000, (100.0, 0, 1)), (1, (0.1, 1, 0))):
            assert turn(gate, speed) == speed
            assert history(sensor_board)[-1] == shown
        assert turn(gate, 0) == 0
        assert history(sensor_board)[-1] == (0, 0, 0)


def test_no_reversal_ever_has_both_directions_on(sensor_board: BoardSim) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", GATE) as gate:
        before = len(history(sensor_board))
        for speed in (1000, -1000, 300, -1, 1000, 0, -700, 700):
            turn(gate, speed)
        since = history(sensor_board)[before:]
    assert not [one for one in since if one[1] and one[2]]
    # It stops before it turns around
    directions = [forward - backward for _, forward, backward in since]
    assert {1, -1} <= set(directions)
    assert not [at for at in range(1, len(directions)) if directions[at] * directions[at - 1] < 0]


def test_a_bridge_with_both_inputs_on_is_told_and_stopped(sensor_board: BoardSim) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", GATE) as gate:
        sensor_board.order({"stuck": {"d2": 1}})
        try:
            code, text = gate.refusal(500)
        finally:
            sensor_board.order({"stuck": {"d2": None}})
        assert (code, text.split(":")[0]) == (codec.IO, "both directions of the bridge are on")
        assert history(sensor_board)[-1] == (0, 0, 0)


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
@pytest.mark.parametrize("speed", [800, -800])
def test_every_end_is_a_stop(sensor_board: BoardSim, end: str, lease_ms: int, speed: int) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", {**GATE, "lease_ms": lease_ms}) as gate:
        before = len(history(sensor_board))
        gate.write(speed)
        assert (80.0, int(speed > 0), int(speed < 0)) in history(sensor_board)[before:]
        gate.ended(end, lambda: history(sensor_board)[-1] == (0, 0, 0))
        if end == "estop":
            assert gate.refusal(speed)[0] == codec.UNSAFE_STATE
            assert history(sensor_board)[-1] == (0, 0, 0)


def test_its_longest_time_ends_it_while_the_pi_renews(sensor_board: BoardSim) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", {**GATE, "max_on_ms": 300}) as gate:
        gate.write(1000)
        gate.renewed_until(lambda: history(sensor_board)[-1] == (0, 0, 0))


@pytest.mark.parametrize("speed", [1001, -1001, 32_767, -32_768])
def test_a_speed_beyond_its_limit_changes_nothing(sensor_board: BoardSim, speed: int) -> None:
    with driven(sensor_board, MOTOR_WRITE, "h", GATE) as gate:
        assert gate.refusal(speed)[0] == codec.OUT_OF_RANGE
        assert history(sensor_board)[-1] == (0, 0, 0)
