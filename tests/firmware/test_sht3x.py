"""An SHT3x: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

import pytest

from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import sensed

CLIMATE_READ = 26
ROOM: dict[str, Any] = {"name": "room", "kind": "sht3x", "pin": "PA11", "sda": "PA12"}

with node_module("devices.sensirion") as loaded:
    SENSIRION = loaded


def test_the_checksum_is_that_of_the_data_sheet() -> None:
    assert SENSIRION.crc8(b"\xbe\xef") == 0x92


def test_the_formulas_are_those_of_the_data_sheet() -> None:
    # -45 + 175 * word / 65535 and 100 * word / 65535, in hundredths
    assert SENSIRION.climate(0, 0) == (-4500, 0)
    assert SENSIRION.climate(65535, 65535) == (13000, 10000)
    assert SENSIRION.climate(0x6667, 0x5EB9) == (2500, 3700)


@pytest.mark.parametrize(("celsius", "percent"), [(21.5, 45.0), (-20.25, 0.0), (99.99, 100.0)])
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
        change(sensor_board, "sht3x", bad_checksum=True)
        room.says("the SHT3x's checksum is wrong")
        change(sensor_board, "sht3x", bad_checksum=False, absent=True)
        room.says("no SHT3x answers at address 68")
        change(sensor_board, "sht3x", absent=False)
        room.near(2150, 4500)


def test_an_address_that_it_cannot_have_is_refused(wire: Wire) -> None:
    with pytest.raises(Refused, match="address is a whole number, 68 to 69"):
        configure(wire, [{**ROOM, "address": 0x46}])
