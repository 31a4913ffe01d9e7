"""An ADS1115: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

import pytest

from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change
from tests.firmware.sensing import sensed

VOLTAGE_READ = 37
BUS: dict[str, Any] = {"kind": "ads1115", "pin": "PA11", "sda": "PA12"}


def test_four_inputs_of_one_chip_do_not_disturb_each_other(sensor_board: BoardSim) -> None:
    sensor_board.set(ain0=0.5, ain1=1.25, ain2=-0.25, ain3=3.3)
    entries = [{**BUS, "name": f"in{channel}", "channel": channel} for channel in range(4)]
    with sensed(sensor_board, VOLTAGE_READ, "i", *entries) as converter:
        # A step of the 4.096 V range is 125 uV
        for _ in range(3):
            for at, microvolts in enumerate((500_000, 1_250_000, -250_000, 3_300_000)):
                converter.near(microvolts, within=125, at=at)


@pytest.mark.parametrize(
    ("full_scale_mv", "volts", "step_uv"),
    [(256, 0.2, 8), (500, 0.5, 16), (1_024, -1.0, 32), (2_048, 2.0, 63), (6_144, 5.0, 188)],
)
def test_the_narrowest_range_that_holds_it_is_taken(
    sensor_board: BoardSim, full_scale_mv: int, volts: float, step_uv: int
) -> None:
    sensor_board.set(ain0=volts)
    entry = {**BUS, "name": "in0", "full_scale_mv": full_scale_mv}
    with sensed(sensor_board, VOLTAGE_READ, "i", entry) as converter:
        converter.near(round(volts * 1_000_000), within=step_uv)


def test_what_it_cannot_measure_is_no_value(sensor_board: BoardSim) -> None:
    sensor_board.set(ain0=1.5)
    entry = {**BUS, "name": "in0", "full_scale_mv": 1_024}
    with sensed(sensor_board, VOLTAGE_READ, "i", entry) as converter:
        converter.says("the voltage is beyond full_scale_mv")
        sensor_board.set(ain0=0.5)
        converter.near(500_000, within=32)
        change(sensor_board, "ads1115", never_finishes=True)
        converter.says("the ADS1115 does not finish")
        change(sensor_board, "ads1115", never_finishes=False, absent=True)
        converter.says("no ADS1115 answers at address 72")
        change(sensor_board, "ads1115", absent=False)
        converter.near(500_000, within=32)
