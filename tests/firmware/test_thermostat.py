"""A thermostat: it regulates on the board, and every doubt and every end is a relay that is off."""

import struct
from typing import Any

import pytest

from agent.link import frame as codec
from agent.link.configuration import read_entries, wire_of
from agent.link.pin_configuration import loosened
from agent.link.pin_settings import PinSettings
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure
from tests.firmware.driving import ENDS, Driven, driven

THERMOSTAT_WRITE = 40
ROOM: dict[str, Any] = {"name": "room", "kind": "bme280", "pin": "PB6", "sda": "PB7"}
# 10 to 20 tenths below the target: what a simulated sensor rounds away is no matter
HEATER: dict[str, Any] = {
    "name": "heater",
    "kind": "thermostat",
    "pin": "PB2",
    "sensor": "room",
    "hysteresis_tenths": 10,
    "rest_s": 0,
    "lease_ms": 10_000,
}
NO_BME280 = "no BME280 answers at address 118"


def relay(board: BoardSim) -> int:
    return board.value("heater")


def heating(board: BoardSim, output: Driven, wanted: int) -> None:
    output.renewed_until(lambda: relay(board) == wanted)


@pytest.fixture(autouse=True)
def _warm(sensor_board: BoardSim) -> None:
    change(sensor_board, "bme280", absent=False)
    sensor_board.set(air_temperature=15.0)


def test_the_relay_follows_the_temperature_with_its_hysteresis(sensor_board: BoardSim) -> None:
    with driven(sensor_board, THERMOSTAT_WRITE, "H", HEATER, ROOM) as heater:
        assert struct.unpack("<BH", heater.write(200))[1] == 200
        heating(sensor_board, heater, 1)
        sensor_board.set(air_temperature=19.5)
        heater.wire.rest(1)
        assert relay(sensor_board) == 1
        sensor_board.set(air_temperature=20.1)
        heating(sensor_board, heater, 0)
        sensor_board.set(air_temperature=19.5)
        heater.renew()
        heater.wire.rest(1)
        assert relay(sensor_board) == 0
        sensor_board.set(air_temperature=18.8)
        heating(sensor_board, heater, 1)
        heater.write(0)
        assert relay(sensor_board) == 0


def test_a_silent_thermometer_switches_the_relay_off(sensor_board: BoardSim) -> None:
    with driven(sensor_board, THERMOSTAT_WRITE, "H", HEATER, ROOM) as heater:
        heater.write(200)
        heating(sensor_board, heater, 1)
        change(sensor_board, "bme280", absent=True)
        heating(sensor_board, heater, 0)
        assert heater.refusal(210) == (codec.IO, NO_BME280)
        change(sensor_board, "bme280", absent=False)
        heating(sensor_board, heater, 1)


def test_a_thermometer_whose_data_line_is_held_low_is_silent_and_no_frost(
    sensor_board: BoardSim,
) -> None:
    with driven(sensor_board, THERMOSTAT_WRITE, "H", HEATER, ROOM) as heater:
        heater.write(200)
        heating(sensor_board, heater, 1)
        change(sensor_board, "eeprom", holds_data=True)
        try:
            heating(sensor_board, heater, 0)
            assert heater.refusal(210)[0] == codec.IO
        finally:
            change(sensor_board, "eeprom", holds_data=False)
        heating(sensor_board, heater, 1)


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_switches_the_relay_off(sensor_board: BoardSim, end: str, lease_ms: int) -> None:
    entry = {**HEATER, "lease_ms": max(1_000, lease_ms)}
    with driven(sensor_board, THERMOSTAT_WRITE, "H", entry, ROOM) as heater:
        heater.write(200)
        heating(sensor_board, heater, 1)
        heater.ended(end, lambda: relay(sensor_board) == 0)
        if end == "estop":
            assert heater.refusal(200)[0] == codec.UNSAFE_STATE
        # And it does not come back by itself, however cold it is
        heater.wire.rest(1)
        assert relay(sensor_board) == 0


def test_one_that_cools_switches_the_other_way(sensor_board: BoardSim) -> None:
    entry = {**HEATER, "cools": 1, "active_low": True}
    with driven(sensor_board, THERMOSTAT_WRITE, "H", entry, ROOM) as fridge:
        sensor_board.set(air_temperature=8.0)
        fridge.write(50)
        heating(sensor_board, fridge, 1)
        sensor_board.set(air_temperature=4.9)
        heating(sensor_board, fridge, 0)


def test_the_relay_rests_before_it_is_on_again(sensor_board: BoardSim) -> None:
    with driven(sensor_board, THERMOSTAT_WRITE, "H", {**HEATER, "rest_s": 2}, ROOM) as heater:
        heater.write(200)
        heating(sensor_board, heater, 1)
        sensor_board.set(air_temperature=21)
        heating(sensor_board, heater, 0)
        sensor_board.set(air_temperature=15)
        heating(sensor_board, heater, 1)
        (_, off_ms), (_, on_ms) = sensor_board.changes("heater")[-2:]
        assert on_ms - off_ms >= 2_000


@pytest.mark.parametrize("end", ["off", "lease", "estop", "silence"])
def test_the_relay_also_rests_after_whatever_ended_the_regulation(
    sensor_board: BoardSim, end: str
) -> None:
    entry = {**HEATER, "rest_s": 2, "lease_ms": dict(ENDS).get(end, 10_000)}
    with driven(sensor_board, THERMOSTAT_WRITE, "H", entry, ROOM) as heater:
        heater.write(200)
        heating(sensor_board, heater, 1)
        if end == "off":
            heater.write(0)
        heater.ended(end, lambda: relay(sensor_board) == 0)
        heater.wire.greet()
        heater.wire.clear()
        heater.write(200)
        heating(sensor_board, heater, 1)
        (_, off_ms), (_, on_ms) = sensor_board.changes("heater")[-2:]
        assert on_ms - off_ms >= 2_000


def test_a_target_beyond_its_limit_is_refused(sensor_board: BoardSim) -> None:
    with driven(sensor_board, THERMOSTAT_WRITE, "H", {**HEATER, "highest_c": 25}, ROOM) as heater:
        assert heater.refusal(251) == (
            codec.OUT_OF_RANGE,
            "this thermostat is set to 25 degrees at most",
        )
        assert heater.refusal(250)[0] == codec.OK


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sensor": "nothing"}, "heater: sensor names no thermometer"),
        ({"sensor": "led"}, "heater: sensor names no thermometer"),
        ({"sensor": "heater"}, "heater: sensor names another entry"),
        ({"sensor": 1}, "heater: sensor names another entry"),
        ({"highest_c": 126}, "heater: highest_c is a whole number, 1 to 125"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(
    wire: Wire, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**HEATER, **changed}, ROOM])
    assert refused.value.text == said


def test_another_thermometer_and_a_higher_limit_wait_for_the_owner() -> None:
    def entries(**changed: Any) -> Any:
        heater = {"pin": "PB0", "kind": "thermostat", "sensor": "room", **changed}
        return read_entries(wire_of({"heater": PinSettings(**heater)}))

    assert loosened(entries(), entries(highest_c=50)) == ()
    assert loosened(entries(highest_c=50), entries()) == (
        "heater has highest_c = 60 instead of 50",
    )
    assert loosened(entries(), entries(sensor="shed")) == ("heater goes by shed instead of room",)
    with pytest.raises(ValueError, match="sensor is missing"):
        PinSettings(pin="PB0", kind="thermostat")
