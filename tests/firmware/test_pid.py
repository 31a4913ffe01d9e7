"""A thermostat by shares: its law against a house that is computed, and off at every doubt."""

import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure
from tests.firmware.driving import ENDS, driven
from tests.firmware.node_on_cpython import node_module

THERMOSTAT_WRITE = 40
ROOM: dict[str, Any] = {"name": "room", "kind": "bme280", "pin": "PB6", "sda": "PB7"}
HEATER: dict[str, Any] = {
    "name": "heater",
    "kind": "pid",
    "pin": "PB2",
    "sensor": "room",
    "window_s": 2,
    "shortest_s": 0,
    "integral_s": 0,
    "lease_ms": 10_000,
}
LAW = {
    "name": "heater",
    "pin": "PB2",
    "sensor": "room",
    "highest_c": 60,
    "gain_percent": 30,
    "integral_s": 1_200,
    "derivative_s": 0,
    "window_s": 20,
    "shortest_s": 1,
    "cools": 0,
    "rest_s": 0,
}
LOOK_S = 0.25


class Relay:
    """Stands in for the pin."""

    IN, OUT = range(2)

    def __init__(self, *_: Any) -> None:
        self.level = 0

    def init(self, _mode: int, value: int = 0) -> None:
        self.level = value

    def value(self, level: int | None = None) -> int:
        if level is not None:
            self.level = level
        return self.level


class House:
    """A room that 100 % heats by 20 degrees, slowly, and a wall before its thermometer.

    Args:
        law: the driver's law.
        clock: says to it what time it is.
        outside: the temperature without heating.
    """

    def __init__(self, law: Any, clock: list[int], outside: float = 8.0) -> None:
        self.law = law
        self.clock = clock
        self.outside = outside
        self.air = self.seen = outside
        self.switched = 0
        self.on_s = 0.0
        self._is_on = False

    def live(self, seconds: float, target: float) -> list[float]:
        """What its thermometer says, each second."""
        told = []
        for step in range(round(seconds / LOOK_S)):
            self.clock[0] += round(LOOK_S * 1000)
            # A thermometer of 0.01 degrees
            missing = round((target - self.seen) * 100)
            is_on = self.law.must_be_on(missing)
            self.switched += is_on != self._is_on
            self._is_on = is_on
            self.on_s += LOOK_S * is_on
            warmed = self.outside + 20 * is_on
            self.air += (warmed - self.air) * LOOK_S / 1_800
            self.seen += (self.air - self.seen) * LOOK_S / 120
            if step % 4 == 0:
                told.append(self.seen)
        return told


@pytest.fixture
def make() -> Iterator[Callable[..., tuple[Any, list[int]]]]:
    machine: Any = ModuleType("machine")
    machine.Pin = Relay
    with node_module("devices.pid", machine=machine) as module:

        def made(**options: int) -> tuple[Any, list[int]]:
            clock = [0]
            module.ticks_ms = lambda: clock[0]
            return module.Pid({**LAW, **options}), clock

        yield made


Make = Callable[..., tuple[Any, list[int]]]


def test_it_settles_at_the_target_without_going_far_beyond(make: Make) -> None:
    house = House(*make())
    told = house.live(4 * 3600, 20.0)
    assert max(told) < 21.0
    last_hour = told[-3600:]
    assert min(last_hour) > 19.8
    assert max(last_hour) < 20.2


def test_a_disturbance_is_made_up_for(make: Make) -> None:
    house = House(*make())
    house.live(4 * 3600, 20.0)
    house.outside = 2.0
    told = house.live(3 * 3600, 20.0)
    assert min(told) > 18.5
    assert min(told[-1800:]) > 19.8
    assert max(told) < 20.6


def test_what_it_could_not_heat_is_not_made_up_for_later(make: Make) -> None:
    # 40 degrees cannot be reached here: hours at full power, then a target that can
    house = House(*make())
    house.live(6 * 3600, 40.0)
    told = house.live(6 * 3600, 20.0)
    # It cools down as the house does, and does not heat on meanwhile
    assert max(told[2 * 3600 :]) < 20.5
    assert min(told) > 18.0
    assert min(told[-3600:]) > 19.8


def test_it_begins_anew_after_a_silence(make: Make) -> None:
    law, clock = make()
    house = House(law, clock)
    house.live(3600, 40.0)
    clock[0] += 60_000
    assert not law.must_be_on(-10)
    for _ in range(400):
        clock[0] += 250
        assert not law.must_be_on(-10)


@pytest.mark.parametrize(("missing", "share"), [(100, 0.3), (200, 0.6), (50, 0.15), (-50, 0)])
def test_the_relay_is_on_for_its_share_of_the_window(
    make: Make, missing: int, share: float
) -> None:
    law, clock = make(integral_s=0)
    on = 0
    for _ in range(800):
        clock[0] += 250
        on += law.must_be_on(missing)
    assert on / 800 == pytest.approx(share, abs=0.03)


def test_it_does_not_switch_for_less_than_its_shortest_time(make: Make) -> None:
    law, clock = make(integral_s=0, shortest_s=5)
    for missing, is_on in ((50, False), (320, True)):
        clock[0] += 10_000
        seen = set()
        for _ in range(200):
            clock[0] += 250
            seen.add(law.must_be_on(missing))
        assert seen == {is_on}


@pytest.mark.parametrize("derivative_s", [0, 120])
def test_a_thermometer_with_steps_does_not_make_the_relay_flicker(
    make: Make, derivative_s: int
) -> None:
    law, clock = make(gain_percent=20, window_s=60, shortest_s=5, derivative_s=derivative_s)
    house = House(law, clock)
    # A DS18B20, whose last bit falls to either side
    chance = random.Random(1)
    lasted = [0]
    was_on = False
    for _ in range(round(4 * 3_600 / LOOK_S)):
        house.live(LOOK_S, 20.0 + 0.0625 * round(chance.random()))
        if house._is_on != was_on:
            was_on = house._is_on
            lasted.append(0)
        lasted[-1] += 250
    # The first and the last one are cut
    assert min(lasted[1:-1]) >= 5_000
    assert house.seen == pytest.approx(20.0, abs=0.2)


def test_the_derivative_brakes_before_the_target(make: Make) -> None:
    with_it, without = House(*make(derivative_s=120)), House(*make())
    assert max(with_it.live(2 * 3600, 20.0)) < max(without.live(2 * 3600, 20.0))


def relay(board: BoardSim) -> int:
    return board.value("heater")


@pytest.fixture
def cold(sensor_board: BoardSim) -> BoardSim:
    change(sensor_board, "bme280", absent=False)
    sensor_board.set(air_temperature=15.0)
    return sensor_board


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_switches_the_relay_of_a_pid_off(cold: BoardSim, end: str, lease_ms: int) -> None:
    entry = {**HEATER, "lease_ms": max(1_000, lease_ms)}
    with driven(cold, THERMOSTAT_WRITE, "H", entry, ROOM) as heater:
        heater.write(250)
        heater.renewed_until(lambda: relay(cold) == 1)
        heater.ended(end, lambda: relay(cold) == 0)
        if end == "estop":
            assert heater.refusal(250)[0] == codec.UNSAFE_STATE
        heater.wire.rest(1)
        assert relay(cold) == 0


def test_a_silent_thermometer_switches_the_relay_of_a_pid_off(cold: BoardSim) -> None:
    with driven(cold, THERMOSTAT_WRITE, "H", HEATER, ROOM) as heater:
        heater.write(250)
        heater.renewed_until(lambda: relay(cold) == 1)
        change(cold, "bme280", absent=True)
        heater.renewed_until(lambda: relay(cold) == 0)
        assert heater.refusal(250) == (codec.IO, "no BME280 answers at address 118")
        change(cold, "bme280", absent=False)
        heater.renewed_until(lambda: relay(cold) == 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shortest_s": 2}, "shortest_s is half of window_s at most"),
        ({"window_s": 1}, "window_s is a whole number, 2 to 600"),
        ({"gain_percent": 0}, "gain_percent is a whole number, 1 to 1000"),
        ({"hysteresis_tenths": 5}, "unknown option hysteresis_tenths"),
    ],
)
def test_options_of_a_pid_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**HEATER, **options}, ROOM])
    assert said in refused.value.text
