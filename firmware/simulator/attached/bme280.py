# A BME280 with its registers: what it measures is turned into what its converters would have read.
#
# The way from the world's values back to raw ones goes through the floating-point formulas of the
# data sheet, not through the integer ones that the firmware has.

import struct
import time

import world

_T = (27504, 26435, -1000)
_P = (36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000)
_H = (75, 362, 0, 313, 50, 30)
_FIRST_MS = 10
_RESET = 0xB6


class Thing:
    changeable = ("absent",)

    def __init__(
        self,
        name,
        pin,
        address=0x76,
        temperature="air_temperature",
        humidity="humidity",
        pressure="pressure",
    ):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = (temperature, humidity, pressure)
        self._absent = False
        self._pointer = 0
        self._switch_on()

    @property
    def absent(self):
        return self._absent

    @absent.setter
    def absent(self, value):
        # Plugged in again it has forgotten its settings
        self._absent = value
        self._switch_on()

    def tick(self, now_ms):
        pass

    def write(self, data):
        if not data:
            return
        self._pointer = data[0]
        for at in range(1, len(data), 2):
            # Values without a register before them are written to the same one
            self._set(data[0] if at == 1 else data[at - 1], data[at])

    def read(self, count):
        registers = self._registers
        if self._pointer == 0xF7 and self._measures_since_ms is not None:
            passed_ms = time.ticks_diff(time.ticks_ms(), self._measures_since_ms)
            if passed_ms >= _FIRST_MS:
                self._measure()
        data = bytes(registers[self._pointer : self._pointer + count])
        self._pointer += count
        return data

    def _switch_on(self):
        h1, h2, h3, h4, h5, h6 = _H
        registers = bytearray(256)
        registers[0xD0] = 0x60
        struct.pack_into("<Hhh", registers, 0x88, *_T)
        struct.pack_into("<Hhhhhhhhh", registers, 0x8E, *_P)
        registers[0xA1] = h1
        low = (h4 & 0x0F) | (h5 & 0x0F) << 4
        struct.pack_into("<hBbBbb", registers, 0xE1, h2, h3, h4 >> 4, low, h5 >> 4, h6)
        registers[0xF7:0xFF] = b"\x80\x00\x00\x80\x00\x00\x80\x00"
        self._registers = registers
        self._measures_since_ms = None

    def _set(self, register, value):
        if register == 0xE0 and value == _RESET:
            self._switch_on()
        elif register in (0xF2, 0xF4, 0xF5):
            self._registers[register] = value
            if register == 0xF4:
                self._humidity_on = bool(self._registers[0xF2] & 7)
                self._measures_since_ms = time.ticks_ms() if value & 3 else None

    def _measure(self):
        temperature, humidity, pressure = (world.quantity(name) for name in self.quantities)
        raw_t = _raw(lambda raw: _fine(raw) / 5120, temperature, 1 << 20)
        t_fine = _fine(raw_t)
        raw_p = (
            (1 << 20)
            - 1
            - _raw(lambda raw: _pascals((1 << 20) - 1 - raw, t_fine), pressure * 100, 1 << 20)
        )
        raw_h = _raw(lambda raw: _percent(raw, t_fine), humidity, 1 << 16)
        if not self._humidity_on:
            raw_h = 0x8000
        packed = raw_p << 44 | raw_t << 20 | raw_h
        self._registers[0xF7:0xFF] = packed.to_bytes(8, "big")


def _raw(formula, value, limit):
    # The reading that comes closest, of a formula that grows with it
    low, high = 0, limit - 1
    while low < high:
        middle = (low + high) // 2
        if formula(middle) < value:
            low = middle + 1
        else:
            high = middle
    if low and value - formula(low - 1) < formula(low) - value:
        return low - 1
    return low


def _fine(raw):
    t1, t2, t3 = _T
    return (raw / 16384 - t1 / 1024) * t2 + (raw / 131072 - t1 / 8192) ** 2 * t3


def _pascals(raw, t_fine):
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = _P
    x = t_fine / 2 - 64000
    y = x * x * p6 / 32768 + x * p5 * 2
    y = y / 4 + p4 * 65536
    x = (p3 * x * x / 524288 + p2 * x) / 524288
    x = (1 + x / 32768) * p1
    p = (1048576 - raw - y / 4096) * 6250 / x
    return p + (p9 * p * p / 2147483648 + p * p8 / 32768 + p7) / 16


def _percent(raw, t_fine):
    h1, h2, h3, h4, h5, h6 = _H
    x = t_fine - 76800
    x = (raw - (h4 * 64 + h5 / 16384 * x)) * (
        h2 / 65536 * (1 + h6 / 67108864 * x * (1 + h3 / 67108864 * x))
    )
    return x * (1 - h1 * x / 524288)
