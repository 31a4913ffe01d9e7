"""Sensors behind the board: their drivers in the real interpreter, and parts that behave."""

import struct

import pytest

from agent.link import frame as codec
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import (
    CELSIUS_READ,
    CLIMATE_READ,
    COUNTER_READ,
    COUNTER_RESET,
    ENCODER_READ,
    SUPPLY_READ,
    ask,
    change,
    measured,
    refusal,
    until,
)
from tests.firmware.methods import GPIO_WRITE, ON


def counted(wire: Wire, name: str = "flow") -> int:
    return int(struct.unpack("<II", ask(wire, COUNTER_READ, name))[0])


def test_a_flow_sensor_counts_while_its_pump_is_on(bench: Wire, bench_board: BoardSim) -> None:
    before = counted(bench)
    bench.rest(0.1)
    assert counted(bench) == before
    ask(bench, GPIO_WRITE, "pump", ON)
    bench.rest(0.5)
    assert 15 <= counted(bench) - before <= 30
    change(bench_board, "flow", blocked=True)
    stopped = counted(bench)
    bench.rest(0.1)
    assert counted(bench) == stopped
    change(bench_board, "flow", blocked=False)


def test_resetting_a_counter_tells_what_it_had(bench: Wire, bench_board: BoardSim) -> None:
    ask(bench, COUNTER_RESET, "bell")
    bench_board.set(bell=1)
    count, since_ms = struct.unpack("<II", ask(bench, COUNTER_RESET, "bell"))
    assert count == 1
    assert since_ms < 5000
    assert counted(bench, "bell") == 0
    bench_board.set(bell=0)


def test_a_contact_that_bounces_counts_once(bench: Wire, bench_board: BoardSim) -> None:
    ask(bench, COUNTER_RESET, "bell")
    bench.rest(0.05)
    assert bench_board.order({"bounce": {"bell": 1}}) == {"ok": True}
    bench.rest(0.1)
    assert counted(bench, "bell") == 1
    bench_board.set(bell=0)


def test_an_encoder_knows_its_direction(bench: Wire, bench_board: BoardSim) -> None:
    def position() -> int:
        return int(struct.unpack("<i", ask(bench, ENCODER_READ, "knob"))[0])

    def step(*levels: tuple[int, int]) -> None:
        for a, b in levels:
            bench_board.set(knob=a)
            bench_board.set(pb5=b)

    step((0, 0))
    start = position()
    forward = [(1, 0), (1, 1), (0, 1), (0, 0)]
    step(*forward)
    assert position() == start + 4
    step(*reversed(forward[:3]), (0, 0), (0, 1))
    assert position() == start - 1
    step((0, 0))


def test_a_ds18b20_is_read_in_hundredths(bench: Wire, bench_board: BoardSim) -> None:
    bench_board.set(water_temperature=-10.06)
    # Its own steps are sixteenths: -10.0625
    read = until(bench, lambda: measured(bench, CELSIUS_READ, "tank", "<h"), (-1006,))
    assert read == (-1006,)


def test_a_dht22_has_temperature_and_humidity_and_no_pressure(
    bench: Wire, bench_board: BoardSim
) -> None:
    bench_board.set(air_temperature=-7.5, humidity=81.3)
    assert until(bench, lambda: measured(bench, CLIMATE_READ, "shed", "<hH"), (-750, 8130)) == (
        -750,
        8130,
    )


def test_a_dht22_that_sends_the_complement_of_two_is_understood(
    bench: Wire, bench_board: BoardSim
) -> None:
    change(bench_board, "dht22", complements=True)
    for celsius in (-0.1, -18.0, 21.5):
        bench_board.set(air_temperature=celsius, humidity=52.9)
        wanted = (round(celsius * 100), 5290)
        read = until(bench, lambda: measured(bench, CLIMATE_READ, "shed", "<hH"), wanted)
        assert read == wanted
    change(bench_board, "dht22", complements=False)


def test_what_arrives_with_a_wrong_checksum_is_not_believed(
    bench: Wire, bench_board: BoardSim
) -> None:
    def trouble() -> tuple[str, str]:
        return refusal(bench, CELSIUS_READ, "tank")[1], refusal(bench, CLIMATE_READ, "shed")[1]

    measured(bench, CELSIUS_READ, "tank", "<h")
    measured(bench, CLIMATE_READ, "shed", "<hH")
    change(bench_board, "ds18b20", bad_checksum=True)
    change(bench_board, "dht22", bad_checksum=True)
    # One line is disturbed more easily than the other: its last value stays for a while
    first = ("the DS18B20's checksum is wrong", "")
    assert until(bench, trouble, first) == first
    second = ("the DS18B20's checksum is wrong", "the DHT22's checksum is wrong")
    assert until(bench, trouble, second) == second
    change(bench_board, "ds18b20", bad_checksum=False, absent=True)
    change(bench_board, "dht22", bad_checksum=False)
    assert until(bench, trouble, ("no DS18B20 answers", "")) == ("no DS18B20 answers", "")
    change(bench_board, "ds18b20", absent=False)
    assert until(bench, trouble, ("", "")) == ("", "")


@pytest.mark.parametrize(
    ("celsius", "percent", "hectopascals"),
    [(-40, 0, 300), (-12.34, 33.3, 650), (0, 100, 1013.25), (24.5, 45.6, 987.6), (85, 12, 1100)],
)
def test_a_bme280_says_what_the_world_is_like(
    bench: Wire, bench_board: BoardSim, celsius: float, percent: float, hectopascals: float
) -> None:
    bench_board.set(air_temperature=celsius, humidity=percent, pressure=hectopascals)
    bench.rest(0.3)
    warm, wet, heavy = measured(bench, CLIMATE_READ, "room", "<hHI")
    assert warm == pytest.approx(celsius * 100, abs=1)
    assert wet == pytest.approx(percent * 100, abs=2)
    assert heavy == pytest.approx(hectopascals * 100, abs=3)


def test_a_bme280_that_was_pulled_out_works_when_it_is_back(
    bench: Wire, bench_board: BoardSim
) -> None:
    change(bench_board, "bme280", absent=True)
    bench.rest(0.3)
    code, text = refusal(bench, CLIMATE_READ, "room")
    assert (code, text) == (codec.IO, "no BME280 answers at address 118")
    change(bench_board, "bme280", absent=False)
    assert len(measured(bench, CLIMATE_READ, "room", "<hHI")) == 3


@pytest.mark.parametrize("volts", [2.9, 3.3])
def test_the_supply_is_measured_in_millivolts(
    bench: Wire, bench_board: BoardSim, volts: float
) -> None:
    bench_board.set(supply=volts)
    assert struct.unpack("<H", bench.call(SUPPLY_READ)) == (round(volts * 1000),)
