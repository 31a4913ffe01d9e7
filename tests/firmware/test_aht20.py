"""An AHT20: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

import pytest

from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import sensed

CLIMATE_READ = 26
ROOM: dict[str, Any] = {"name": "room", "kind": "aht20", "pin": "PA11", "sda": "PA12"}
# Read from a real AHT20: 23.19 %, 31.67 degrees, and the checksum that it sent
OF_A_REAL_ONE = bytes.fromhex("1c3b5e8688b2d2")


class Bus:
    """A bus on which the sensor always says the same."""

    def readfrom_into(self, _address: int, buffer: bytearray) -> None:
        buffer[:] = OF_A_REAL_ONE


def test_the_bytes_of_a_real_sensor_are_read_right() -> None:
    with node_module("devices.aht20") as aht20:
        sensor = aht20.Aht20.__new__(aht20.Aht20)
        assert sensor.finish(Bus(), 0x38) == (3167, 2319)


@pytest.mark.parametrize(("celsius", "percent"), [(21.5, 45.0), (-39.5, 0.0), (84.99, 99.9)])
def test_it_tells_temperature_and_humidity(
    sensor_board: BoardSim, celsius: float, percent: float
) -> None:
    sensor_board.set(air_temperature=celsius, humidity=percent)
    with sensed(sensor_board, CLIMATE_READ, "hH", ROOM) as room:
        room.near(round(celsius * 100), round(percent * 100))


def test_damage_and_a_pulled_cable_are_told_apart_and_end(sensor_board: BoardSim) -> None:
    sensor_board.set(air_temperature=21.5, humidity=45)
    with sensed(sensor_board, CLIMATE_READ, "hH", ROOM) as room:
        room.near(2150, 4500)
        change(sensor_board, "aht20", bad_checksum=True)
        room.says("the AHT20's checksum is wrong")
        change(sensor_board, "aht20", bad_checksum=False, absent=True)
        room.says("no AHT20 answers at address 56")
        change(sensor_board, "aht20", absent=False)
        room.near(2150, 4500)
