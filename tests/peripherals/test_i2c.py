import errno
import importlib.util
from pathlib import Path

import pytest

from agent.errors import PinRefused
from agent.peripherals import i2c
from agent.peripherals.i2c import I2cBuses, trouble_with_buses
from agent.peripherals.settings import I2cSettings
from tests.fakes.pi_pins import FakeBus

SENSOR = I2cSettings(address=0x76)
RELAY = I2cSettings(address=0x20, write="actuate")
GONE = I2cSettings(address=0x21, write="hazard")
DRIVEN = I2cSettings(address=0x68)
DEVICES = {
    "sensor": SENSOR,
    "relay": RELAY,
    "gone": GONE,
    "driven": DRIVEN,
    "new": I2cSettings(bus=3),
}


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus(0x76, 0x20, 0x50, busy=[0x68])


@pytest.fixture
def buses(bus: FakeBus) -> I2cBuses:
    return I2cBuses(DEVICES, {1: bus}.__getitem__)


def test_registers_are_read_and_written(buses: I2cBuses, bus: FakeBus) -> None:
    buses.write("relay", 0x10, b"\x01\x02")
    assert bus.memories[0x20][0x10:0x12] == b"\x01\x02"
    assert buses.read("relay", 0x10, 2) == b"\x01\x02"


def test_a_device_without_registers_gives_and_takes_single_bytes(
    buses: I2cBuses, bus: FakeBus
) -> None:
    bus.memories[0x20][7:9] = b"\xaa\xbb"
    buses.write("relay", None, b"\x07")
    assert buses.read("relay", None, 2) == b"\xaa\xbb"
    with pytest.raises(PinRefused, match="one byte"):
        buses.write("relay", None, b"\x07\x08")


def test_what_may_only_be_read_is_not_written_to(buses: I2cBuses, bus: FakeBus) -> None:
    with pytest.raises(PinRefused, match="read-only: to allow writing"):
        buses.write("sensor", 0xF4, b"\x27")
    assert not any(bus.memories[0x76])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "does not answer at 0x21 on bus 1"),
        ("driven", "in use by a kernel driver"),
        ("new", "no device named new with an address"),
        ("other", "no device named other"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(buses: I2cBuses, name: str, said: str) -> None:
    with pytest.raises(PinRefused, match=said):
        buses.read(name, 0, 1)


def test_a_scan_finds_what_answers_and_writes_to_no_memory(buses: I2cBuses, bus: FakeBus) -> None:
    assert buses.scan(1) == [0x20, 0x50, 0x68, 0x76]
    assert not {0x50, 0x57, 0x30} & set(bus.quick)


class StuckBus(FakeBus):
    """Its lines are held low: the kernel gives each transfer up after a second."""

    def __init__(self, *answering: int, stuck: range = i2c.ADDRESSES) -> None:
        super().__init__(*answering)
        self.stuck = stuck
        self.given_up = 0

    def write_quick(self, i2c_addr: int) -> None:
        if i2c_addr in self.stuck:
            self.given_up += 1
            raise OSError(errno.ETIMEDOUT, "Connection timed out")
        super().write_quick(i2c_addr)


def test_a_scan_of_a_stuck_bus_ends_soon_and_says_so() -> None:
    bus = StuckBus()
    with pytest.raises(PinRefused, match="bus 1 does not move"):
        I2cBuses(DEVICES, {1: bus}.__getitem__).scan(1)
    assert bus.given_up <= 2


def test_a_device_that_is_too_slow_for_a_scan_hides_no_other() -> None:
    bus = StuckBus(0x20, 0x76, stuck=range(0x21, 0x22))
    assert I2cBuses(DEVICES, {1: bus}.__getitem__).scan(1) == [0x20, 0x76]


def test_a_bus_that_nobody_configured_is_left_alone(buses: I2cBuses) -> None:
    with pytest.raises(PinRefused, match="on bus 2"):
        buses.scan(2)


def test_a_bus_is_opened_once_and_closed_at_the_end(bus: FakeBus) -> None:
    opened: list[int] = []

    def open_bus(number: int) -> FakeBus:
        opened.append(number)
        return bus

    buses = I2cBuses(DEVICES, open_bus)
    buses.scan(1)
    buses.read("sensor", 0, 1)
    assert opened == [1]
    buses.close()
    assert bus.is_closed


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOENT])
def test_a_bus_that_cannot_be_opened_is_a_sentence(number: int) -> None:
    def open_bus(_number: int) -> FakeBus:
        raise OSError(number, "no way in")

    with pytest.raises(PinRefused, match="cannot use /dev/i2c-1: no way in"):
        I2cBuses(DEVICES, open_bus).scan(1)


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PinRefused, match=r"pip install '\.\[pi\]'"):
        i2c.smbus(1)


@pytest.mark.parametrize(
    ("device", "spec", "said"),
    [("null", "found", "raspi-config"), ("i2c-1", None, "smbus2"), ("i2c-1", "found", "")],
)
def test_what_is_missing_is_seen_without_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, spec: str | None, said: str
) -> None:
    (tmp_path / device).touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    trouble = trouble_with_buses(tmp_path)
    assert said in trouble
    assert bool(trouble) == bool(said)
