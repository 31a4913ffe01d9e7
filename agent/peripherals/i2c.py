"""The Pi's own I2C buses: only configured devices are spoken to, and only some are written to.

SMBus transfers alone, which every bus of the kernel can do. One transfer at a time.
"""

import contextlib
import errno
import importlib.util
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from agent.errors import PinRefused
from agent.peripherals.gpio import DEVICES, HOW_TO_INSTALL
from agent.peripherals.settings import I2cSettings

# What one SMBus transfer carries
MAX_BYTES = 32
# The rest is reserved for the bus itself
ADDRESSES = range(0x08, 0x78)
# A memory there would take an empty write for the beginning of one: these are read instead
_READ_TO_FIND = (range(0x30, 0x38), range(0x50, 0x60))
# The kernel waits a second for lines that something holds: one slow device is no stuck bus, two are
_MOST_TIMEOUTS = 2
_ABSENT = frozenset({errno.ENXIO, errno.EREMOTEIO, errno.EIO, errno.ETIMEDOUT})


class Bus(Protocol):
    """An open bus, with the names of smbus2."""

    def write_quick(self, i2c_addr: int) -> None: ...

    def read_byte(self, i2c_addr: int) -> int: ...

    def write_byte(self, i2c_addr: int, value: int) -> None: ...

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]: ...

    def write_i2c_block_data(self, i2c_addr: int, register: int, data: Sequence[int]) -> None: ...

    def close(self) -> None: ...


_STUCK = (
    "bus {} does not move: look at its wires, its pull-up resistors and the power of its devices"
)

OpenBus = Callable[[int], Bus]


def trouble_with_buses(devices: Path = DEVICES) -> str:
    """Return why no bus of this machine can be used, as far as visible without trying."""
    if not any(devices.glob("i2c-*")):
        return (
            f"no {devices}/i2c-* on this machine: switch I2C on with `raspi-config nonint do_i2c 0`"
        )
    if importlib.util.find_spec("smbus2") is None:
        return f"smbus2 is not installed: {HOW_TO_INSTALL}"
    return ""


class I2cBuses:
    """The buses on which devices are configured; safe to use from any thread."""

    def __init__(self, devices: Mapping[str, I2cSettings], open_bus: OpenBus | None = None) -> None:
        self.devices = dict(devices)
        self._open_bus = open_bus or smbus
        self._buses: dict[int, Bus] = {}
        self._transferring = threading.Lock()

    def scan(self, number: int) -> list[int]:
        """The addresses at which something answers.

        Raises:
            PinRefused: the bus cannot be used.
        """
        found, timeouts = list[int](), 0
        with self._transferring:
            bus = self._bus(number)
            for address in ADDRESSES:
                try:
                    is_there = _is_there(bus, address)
                except TimeoutError as err:
                    timeouts += 1
                    if timeouts == _MOST_TIMEOUTS:
                        raise PinRefused(_STUCK.format(number)) from err
                    continue
                timeouts = 0
                if is_there:
                    found.append(address)
        return found

    def read(self, name: str, register: int | None, count: int) -> bytes:
        """Read bytes from a register on, or as the device sends them.

        Raises:
            PinRefused: it does not answer.
        """
        device = self._device(name)
        with self._transferring, _told(name, device):
            bus = self._bus(device.bus)
            if register is None:
                return bytes(bus.read_byte(device.address) for _ in range(count))
            return bytes(bus.read_i2c_block_data(device.address, register, count))

    def write(self, name: str, register: int | None, data: bytes) -> None:
        """Write to a register, or a single byte to a device that has none.

        Raises:
            PinRefused: it must not be written to, or does not answer.
        """
        device = self._device(name)
        if device.write == "never":
            raise PinRefused(f"{name} is read-only: to allow writing, set i2c.{name}.write")
        if register is None and len(data) != 1:
            raise PinRefused("without a register, write exactly one byte")
        with self._transferring, _told(name, device):
            bus = self._bus(device.bus)
            if register is None:
                bus.write_byte(device.address, data[0])
            else:
                bus.write_i2c_block_data(device.address, register, list(data))

    def close(self) -> None:
        with self._transferring:
            while self._buses:
                self._buses.popitem()[1].close()

    def _device(self, name: str) -> I2cSettings:
        device = self.devices.get(name)
        if device is None or not device.address:
            raise PinRefused(f"no device named {name} with an address in [i2c]")
        return device

    def _bus(self, number: int) -> Bus:
        if number not in {device.bus for device in self.devices.values()}:
            raise PinRefused(f"no device of [i2c] is on bus {number}")
        if number not in self._buses:
            try:
                self._buses[number] = self._open_bus(number)
            except OSError as err:
                why = f"cannot use /dev/i2c-{number}: {err.strerror or err}"
                raise PinRefused(why) from err
        return self._buses[number]


def smbus(number: int) -> Bus:
    """A bus of the kernel.

    Raises:
        PinRefused: the library is not there.
        OSError: the bus is not.
    """
    if importlib.util.find_spec("smbus2") is None:
        raise PinRefused(f"I2C needs smbus2, which is not installed: {HOW_TO_INSTALL}")
    import smbus2  # noqa: PLC0415 - only where a bus is used

    bus: Bus = smbus2.SMBus(number)
    return bus


def _is_there(bus: Bus, address: int) -> bool:
    """Return true if something answers.

    Raises:
        TimeoutError: the lines did not move.
    """
    try:
        if any(address in some for some in _READ_TO_FIND):
            bus.read_byte(address)
        else:
            bus.write_quick(address)
    except TimeoutError:
        raise
    except OSError as err:
        # A driver of the kernel speaks with it
        return err.errno == errno.EBUSY
    return True


@contextlib.contextmanager
def _told(name: str, device: I2cSettings) -> Iterator[None]:
    """Turn the kernel's errors into sentences."""
    try:
        yield
    except OSError as err:
        where = f"at {device.address:#04x} on bus {device.bus}"
        if err.errno in _ABSENT:
            raise PinRefused(f"{name} does not answer {where}") from err
        if err.errno == errno.EBUSY:
            raise PinRefused(f"{name} {where} is in use by a kernel driver") from err
        raise PinRefused(f"{name} {where}: {err.strerror or err}") from err
