"""An SCD4x: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import sensed

AIR_READ = 38
AIR: dict[str, Any] = {"name": "air", "kind": "scd4x", "pin": "PA11", "sda": "PA12"}
# What the data sheet has the sensor answer: 500 ppm, 25 degrees, 37 %
OF_THE_DATA_SHEET = bytes.fromhex("01f433 6667a2 5eb93c")


class Bus:
    """A bus on which the sensor says what the data sheet has it say."""

    def readfrom_into(self, _address: int, buffer: bytearray) -> None:
        buffer[:] = OF_THE_DATA_SHEET


def test_the_example_of_the_data_sheet_is_read_right() -> None:
    with node_module("devices.scd4x") as scd4x:
        sensor = scd4x.Scd4x.__new__(scd4x.Scd4x)
        sensor._is_asked = True
        assert sensor.finish(Bus(), 0x62) == (500, 2500, 3700)


def test_it_tells_carbon_dioxide_temperature_and_humidity(sensor_board: BoardSim) -> None:
    sensor_board.set(co2=1234, air_temperature=23.4, humidity=51)
    change(sensor_board, "scd4x", every_ms=300)
    with sensed(sensor_board, AIR_READ, "HhH", AIR) as air:
        assert air.ask() == "the first measurement is under way"
        air.near(1234, 2340, 5100)
        sensor_board.set(co2=2100)
        air.near(2100, 2340, 5100)


def test_damage_and_a_pulled_cable_are_told_apart_and_end(sensor_board: BoardSim) -> None:
    sensor_board.set(co2=620, air_temperature=21.5, humidity=45)
    change(sensor_board, "scd4x", every_ms=300)
    with sensed(sensor_board, AIR_READ, "HhH", AIR) as air:
        air.near(620, 2150, 4500)
        change(sensor_board, "scd4x", bad_checksum=True)
        air.says("the SCD4x's checksum is wrong")
        change(sensor_board, "scd4x", bad_checksum=False, absent=True)
        air.says("no SCD4x answers at address 98")
        change(sensor_board, "scd4x", absent=False)
        air.near(620, 2150, 4500)


def test_a_value_that_is_never_renewed_does_not_stay(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, AIR_READ, "HhH", {**AIR, "name": "still"}) as air:
        air.near(620, 2150, 4500)
        change(sensor_board, "scd4x", is_deaf=True)
        # 24 looks, one every 0.5 s
        air.says("the SCD4x measures nothing", limit_s=40)
        change(sensor_board, "scd4x", is_deaf=False)
        air.near(620, 2150, 4500)
