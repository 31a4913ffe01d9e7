"""A data line of I2C that somebody holds low: every address answers, and every bit is 0."""

import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module

LINES: dict[str, Any] = {"pin": "PA11", "sda": "PA12", "frequency": 100_000}
LEVEL, LATCH, DATA = 0x12, 0x14, 0xF7


class Lines:
    """Two lines with a chip that has registers; SoftI2C and the pins of the board."""

    def __init__(self) -> None:
        self.registers = bytearray(256)
        self.is_held = False
        self.levels: dict[str, int] = {}

    def writeto(self, _address: int, data: bytes) -> int:
        return len(data)

    def readfrom_into(self, _address: int, into: memoryview) -> None:
        into[:] = bytes(len(into))

    def readfrom_mem(self, _address: int, register: int, count: int) -> bytes:
        found = bytes(self.registers[register : register + count])
        return bytes(count) if self.is_held else found

    def readfrom_mem_into(self, address: int, register: int, into: bytearray) -> None:
        into[:] = self.readfrom_mem(address, register, len(into))

    def writeto_mem(self, _address: int, register: int, data: bytes) -> None:
        if not self.is_held:
            self.registers[register : register + len(data)] = data
            # What an output drives is at its pin
            self.registers[LEVEL : LEVEL + 2] = self.registers[LATCH : LATCH + 2]


@contextmanager
def on_lines(name: str) -> Iterator[tuple[Any, Lines]]:
    """A module of the firmware whose bus and pins are those lines."""
    lines = Lines()

    class Pin:
        IN, OUT, PULL_NONE, PULL_UP, PULL_DOWN = range(5)

        def __init__(self, name: str, _mode: int = IN, value: int | None = None) -> None:
            self._name = name
            if value is not None:
                lines.levels[name] = value

        def init(self, _mode: int) -> None:
            lines.levels.pop(self._name, None)

        def value(self, level: int | None = None) -> int:
            if level is not None:
                lines.levels[self._name] = level
            pulled_up = 0 if lines.is_held and self._name == LINES["sda"] else 1
            return lines.levels.get(self._name, pulled_up)

    machine: Any = ModuleType("machine")
    machine.Pin = Pin
    machine.SoftI2C = lambda **_lines: lines
    with node_module(name, machine=machine) as module:
        yield module, lines


def test_a_bme280_that_is_not_heard_measures_no_frost() -> None:
    with on_lines("devices.bme280") as (bme280, lines):
        lines.registers[0xD0] = 0x60
        struct.pack_into("<Hhh", lines.registers, 0x88, 27504, 26435, -1000)
        struct.pack_into("<H", lines.registers, 0x8E, 36477)
        # 25.08 degrees, as in the data sheet
        lines.registers[DATA + 3 : DATA + 6] = b"\x7e\xed\x00"
        sensor = bme280.Bme280({**LINES, "address": 0x76})
        assert sensor.value(0) == 2508
        lines.is_held = True
        bme280.ticks_ms = lambda: 1_000
        with pytest.raises(bme280.Refusal, match="no BME280 answers at address 118"):
            sensor.value(0)
        lines.is_held = False
        assert sensor.value(0) == 2508


def test_a_bus_that_is_not_heard_reads_writes_and_finds_nothing() -> None:
    with on_lines("devices.i2c") as (i2c, lines):
        bus = i2c.I2c(LINES)
        lines.is_held = True
        answer = bytearray(240)
        silent = "no device answers at address 80"
        with pytest.raises(i2c.Refusal, match=silent):
            bus._read(struct.pack("<BBhB", 0, 80, 16, 3), answer, None)
        unlocked: Any = type("Outputs", (), {"stopped": False})
        with pytest.raises(i2c.Refusal, match=silent):
            bus._write(b"\x00\x50\x02ab", answer, unlocked)
        with pytest.raises(i2c.Refusal, match="scanning"):
            bus._scan(b"\x00", answer, None)
        for _ in range(7):
            bus.tick(0)
        assert not bus._count


def test_an_output_of_an_expander_that_is_not_heard_is_off_by_its_wire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a chip with outputs alone every register may be 0, so that it seems to obey."""
    monkeypatch.setattr(time, "sleep_us", lambda _us: None, raising=False)
    with on_lines("devices.mcp23017") as (mcp23017, lines):
        entry = {**LINES, "reset": "PA8", "address": 0x20}
        valves = [mcp23017.Mcp23017({**entry, "channel": number}) for number in range(16)]
        chip = valves[0]._chip
        chip.tick(1_000)
        chip.set(9, 1)
        assert (lines.levels["PA8"], lines.registers[LATCH + 1]) == (1, 2)
        lines.is_held = True
        chip.off(9, in_interrupt=False)
        assert lines.levels["PA8"] == 0
        with pytest.raises(sys.modules["node.calls"].Refusal):
            chip.set(9, 1)
        assert lines.levels["PA8"] == 0
