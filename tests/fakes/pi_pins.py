"""The pins and buses of a Pi, without one: lines that record, timers that wait to be told."""

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.errors import PinRefused
from agent.peripherals.gpio import PiPins
from agent.peripherals.settings import PiPinSettings


@dataclass
class RecordedLine:
    """`told` holds every switch in order."""

    is_on: bool
    told: list[bool] = field(default_factory=list)
    is_closed: bool = False

    def read(self) -> bool:
        return self.is_on

    def switch(self, *, on: bool) -> None:
        self.is_on = on
        self.told.append(on)

    def close(self) -> None:
        self.is_closed = True


class StuckLine(RecordedLine):
    """Takes every order and stays as it is."""

    def switch(self, *, on: bool) -> None:
        self.told.append(on)


@dataclass
class SlowToGoOff(RecordedLine):
    """Goes off at the third try."""

    refused: int = 0

    def switch(self, *, on: bool) -> None:
        if not on and self.refused < 2:
            self.refused += 1
            raise OSError(errno.EIO, "Input/output error")
        super().switch(on=on)


class BrokenLine(RecordedLine):
    """Cannot be switched any more."""

    def switch(self, *, on: bool) -> None:
        raise OSError(errno.EIO, "Input/output error")


@dataclass
class Timers:
    """Timers that run out when a test says so."""

    waiting: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def later(self, delay_s: float, act: Callable[[], None]) -> Callable[[], None]:
        timer = (delay_s, act)
        self.waiting.append(timer)
        return lambda: self.waiting.remove(timer) if timer in self.waiting else None

    def run_out(self) -> None:
        waiting, self.waiting = self.waiting, []
        for _, act in waiting:
            act()


@dataclass
class FakePi:
    """Configured pins whose lines a test can look at, by GPIO."""

    pins: dict[str, PiPinSettings]
    kind: type[RecordedLine] = RecordedLine
    lines: dict[int, RecordedLine] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)
    absent: frozenset[int] = frozenset()

    def owner(self) -> PiPins:
        return PiPins(self.pins, self.opened, self.timers.later)

    def opened(self, pin: PiPinSettings) -> RecordedLine:
        assert pin.gpio is not None
        assert pin.gpio not in self.lines, "a line is opened once"
        if pin.gpio in self.absent:
            raise PinRefused(f"GPIO {pin.gpio} cannot be used: it is taken")
        line = self.lines[pin.gpio] = self.kind(pin.safe == "on")
        return line


class FakeBus:
    """An SMBus with memories of 256 registers, as the kernel's own stub has; by smbus2's names."""

    def __init__(self, *addresses: int, busy: Sequence[int] = ()) -> None:
        self.memories = {address: bytearray(256) for address in addresses}
        self.busy = frozenset(busy)
        self.pointers = dict.fromkeys(addresses, 0)
        self.is_closed = False
        self.quick: list[int] = []

    def write_quick(self, i2c_addr: int) -> None:
        self.quick.append(i2c_addr)
        self._memory(i2c_addr)

    def read_byte(self, i2c_addr: int) -> int:
        memory, at = self._memory(i2c_addr), self.pointers[i2c_addr]
        self.pointers[i2c_addr] = (at + 1) % 256
        return memory[at]

    def write_byte(self, i2c_addr: int, value: int) -> None:
        self._memory(i2c_addr)
        self.pointers[i2c_addr] = value

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]:
        assert 1 <= length <= 32
        return list(self._memory(i2c_addr)[register : register + length])

    def write_i2c_block_data(self, i2c_addr: int, register: int, data: Sequence[int]) -> None:
        assert 1 <= len(data) <= 32
        self._memory(i2c_addr)[register : register + len(data)] = bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def _memory(self, address: int) -> bytearray:
        if address in self.busy:
            raise OSError(errno.EBUSY, "Device or resource busy")
        if address not in self.memories:
            raise OSError(errno.EREMOTEIO, "Remote I/O error")
        return self.memories[address]
