"""A voltage from the microcontroller: 0 V at every end."""

import struct
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import configure
from tests.firmware.driving import ENDS, driven

DAC_WRITE = 54
LEVEL: dict[str, Any] = {"name": "level", "kind": "dac", "pin": "PA4", "lease_ms": 10_000}


def volts(board: BoardSim) -> float:
    return float([one["volts"] for one in board.record() if one["event"] == "voltage"][-1])


@pytest.mark.parametrize("millivolts", [1, 1_650, 3_300])
def test_a_voltage_is_put_out(sensor_board: BoardSim, millivolts: int) -> None:
    with driven(sensor_board, DAC_WRITE, "H", LEVEL) as level:
        assert struct.unpack("<H", level.write(millivolts)) == (millivolts,)
        assert volts(sensor_board) == pytest.approx(millivolts / 1000, abs=0.001)
        assert struct.unpack("<H", level.write(0)) == (0,)
        assert volts(sensor_board) == 0


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_is_no_voltage(sensor_board: BoardSim, end: str, lease_ms: int) -> None:
    with driven(sensor_board, DAC_WRITE, "H", {**LEVEL, "lease_ms": lease_ms}) as level:
        level.write(2_000)
        level.ended(end, lambda: volts(sensor_board) == 0)
        if end == "estop":
            assert level.refusal(2_000)[0] == codec.UNSAFE_STATE


def test_a_voltage_beyond_its_limit_changes_nothing(sensor_board: BoardSim) -> None:
    with driven(sensor_board, DAC_WRITE, "H", {**LEVEL, "highest_mv": 2_000}) as level:
        for millivolts in (2_001, 65_535):
            told = level.refusal(millivolts)
            assert told == (codec.OUT_OF_RANGE, "this output goes 0 to 2000 mV")
        assert volts(sensor_board) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pin": "PA3"}, "PA3 cannot be used for that"),
        ({"highest_mv": 3_601}, "highest_mv is a whole number, 1 to 3600"),
        ({"safe": 1}, "safe is a whole number, 0 to 0"),
    ],
)
def test_options_of_a_dac_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**LEVEL, **options}])
    assert said in refused.value.text
