"""An analog input with a filter and a calibration."""

import random
from array import array
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import configure
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import sensed

VOLTAGE_READ = 37
BATTERY: dict[str, Any] = {"name": "battery", "kind": "voltmeter", "pin": "PA3"}
PLAIN = {"pin": "PA3", "offset_uv": 0, "gain_ppm": 1_000_000, "samples": 9, "mean": 0}
# A step of a converter of 12 bits
STEP_UV = 806


@pytest.fixture
def made() -> Iterator[Callable[..., tuple[Any, list[int]]]]:
    """Makes the driver and the list from which it takes its samples."""
    machine: Any = ModuleType("machine")
    machine.Pin = str
    board: Any = ModuleType("board")
    board.SUPPLY_MV = 3300
    taken: list[int] = []

    class Converter:
        def __init__(self, _pin: str) -> None:
            pass

        def read_u16(self) -> int:
            return taken.pop(0)

    machine.ADC = Converter
    with node_module("devices.voltmeter", machine=machine, board=board, array=array_module()) as it:
        yield lambda **options: (it.Voltmeter({**PLAIN, **options}), taken)


def array_module() -> Any:
    module: Any = ModuleType("array")
    module.array = lambda code, data: array(code, bytes(data))
    return module


def feed(driver: Any, taken: list[int], samples: list[int]) -> int:
    taken.extend(samples)
    for _ in samples:
        driver.tick(0)
    return int(driver.value(0))


def test_the_median_leaves_out_what_an_interference_did(
    made: Callable[..., tuple[Any, list[int]]],
) -> None:
    driver, taken = made()
    chance = random.Random(7)
    for _ in range(200):
        samples = [32_768] * 5 + [chance.choice((0, 65_535)) for _ in range(4)]
        chance.shuffle(samples)
        assert feed(driver, taken, samples) == pytest.approx(1_650_000, abs=STEP_UV)


def test_the_mean_is_finer_than_a_step(made: Callable[..., tuple[Any, list[int]]]) -> None:
    driver, taken = made(samples=32, mean=1)
    chance = random.Random(3)
    # Noise of three steps around a voltage between two of them
    wanted = 20_008
    errors = []
    for _ in range(100):
        samples = [round(chance.gauss(wanted, 48) / 16) * 16 for _ in range(32)]
        errors.append(abs(feed(driver, taken, samples) - wanted * 3_300_000 // 65_535))
    assert sum(errors) / len(errors) < STEP_UV * 0.75


def test_what_is_older_than_the_samples_does_not_count(
    made: Callable[..., tuple[Any, list[int]]],
) -> None:
    driver, taken = made(samples=3)
    assert feed(driver, taken, [60_000] * 9) > 3_000_000
    assert feed(driver, taken, [100, 100]) < 10_000


@pytest.mark.parametrize(
    ("volts", "options", "microvolts"),
    [
        (1.0, {}, 1_000_000),
        (1.0, {"gain_ppm": 11_000_000}, 11_000_000),
        (1.0, {"gain_ppm": 1_020_000, "offset_uv": -20_000}, 1_000_000),
        (0.5, {"gain_ppm": 100_000_000, "offset_uv": -100_000_000}, -50_000_000),
    ],
)
def test_a_calibration_is_a_gain_and_an_offset(
    sensor_board: BoardSim, volts: float, options: dict[str, int], microvolts: int
) -> None:
    sensor_board.set(pa3=volts)
    within = STEP_UV * options.get("gain_ppm", 1_000_000) // 1_000_000
    with sensed(sensor_board, VOLTAGE_READ, "i", {**BATTERY, **options}) as battery:
        battery.near(microvolts, within=within)


def test_a_voltage_beyond_the_pin_is_no_value(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, VOLTAGE_READ, "i", BATTERY) as battery:
        sensor_board.set(pa3=5.0)
        battery.says("the voltage is beyond what the pin measures")
        sensor_board.set(pa3=2.0)
        battery.near(2_000_000, within=STEP_UV)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pin": "PB12"}, "PB12 cannot be used for that"),
        ({"samples": 0}, "samples is a whole number, 1 to 63"),
        ({"gain_ppm": 0}, "gain_ppm is a whole number, 1000 to 100000000"),
        ({"mean": 2}, "mean is 0 or 1"),
    ],
)
def test_options_of_a_voltmeter_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**BATTERY, **options}])
    assert said in refused.value.text
