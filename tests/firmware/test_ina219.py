"""An INA219: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

import pytest

from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import sensed

POWER_READ = 36
SUPPLY: dict[str, Any] = {"name": "supply", "kind": "ina219", "pin": "PA11", "sda": "PA12"}


class Bus:
    """An INA219 whose registers are those of its data sheet's worked example."""

    def readfrom_mem(self, _address: int, register: int, _count: int) -> bytes:
        # 11.98 V; 20 mV at a shunt of 2 mOhm, which are 10 A; the settings that the driver makes
        return {0: b"\x3f\xff", 1: b"\x07\xd0", 2: b"\x5d\x9a"}[register]


def test_the_worked_example_of_the_data_sheet_comes_out() -> None:
    with node_module("devices.ina219") as ina219:
        sensor = ina219.Ina219.__new__(ina219.Ina219)
        sensor._bus, sensor._address, sensor._shunt_mohm = Bus(), 0x40, 2
        assert [sensor.value(part) for part in range(4)] == [11_980, 10_000, 119_800, None]


@pytest.mark.parametrize("shunt", [b"\x7d\x00", b"\x83\x00"])
def test_the_end_of_the_range_is_no_measurement(
    shunt: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data sheet's table 7: more than 320 mV at the shunt reads as 320 mV."""
    registers = {0: b"\x3f\xff", 1: shunt, 2: b"\x5d\x9a"}
    monkeypatch.setattr(Bus, "readfrom_mem", lambda *said: registers[said[2]])
    with node_module("devices.ina219") as ina219:
        sensor = ina219.Ina219.__new__(ina219.Ina219)
        sensor._bus, sensor._address, sensor._shunt_mohm = Bus(), 0x40, 2
        with pytest.raises(ina219.Refusal, match="too much current"):
            sensor.value(1)


@pytest.mark.parametrize(("volts", "amperes"), [(12.0, 0.5), (5.2, -1.25), (0.0, 0.0), (26, 3.19)])
def test_it_tells_voltage_current_and_power(
    sensor_board: BoardSim, volts: float, amperes: float
) -> None:
    sensor_board.set(supply_volts=volts, supply_amperes=amperes)
    with sensed(sensor_board, POWER_READ, "Hii", SUPPLY) as supply:
        supply.near(round(volts * 1000), round(amperes * 1000), round(volts * amperes * 1000))


@pytest.mark.parametrize("amperes", [3.2, 8.0, -8.0])
def test_a_current_beyond_its_range_is_told_as_such_and_not_as_its_end(
    sensor_board: BoardSim, amperes: float
) -> None:
    sensor_board.set(supply_volts=12, supply_amperes=amperes)
    with sensed(sensor_board, POWER_READ, "Hii", SUPPLY) as supply:
        supply.says("the INA219 cannot calculate: too much current")
        sensor_board.set(supply_volts=12, supply_amperes=3.19)
        supply.near(12_000, 3_190, 38_280)


def test_overflow_and_a_pulled_cable_are_told_apart_and_end(sensor_board: BoardSim) -> None:
    sensor_board.set(supply_volts=12, supply_amperes=0.5)
    with sensed(sensor_board, POWER_READ, "Hii", SUPPLY) as supply:
        supply.near(12_000, 500, 6_000)
        change(sensor_board, "ina219", overflows=True)
        supply.says("the INA219 cannot calculate: too much current")
        change(sensor_board, "ina219", overflows=False, absent=True)
        supply.says("no INA219 answers at address 64")
        change(sensor_board, "ina219", absent=False)
        supply.near(12_000, 500, 6_000)
