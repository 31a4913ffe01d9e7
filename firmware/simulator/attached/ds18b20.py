# A DS18B20: it converts for 750 ms and answers with its scratchpad and a checksum.

import struct
import time

import world

_CONVERSION_MS = 750
_POWER_ON = 0x0550


class Thing:
    changeable = ("absent", "bad_checksum")

    def __init__(self, name, pin, temperature="water_temperature"):
        self.name = name
        self.pin = pin
        self.quantities = (temperature,)
        self.absent = False
        # A line that picks up noise: one bit of the answer is wrong
        self.bad_checksum = False
        self._raw = _POWER_ON
        self._converting_since_ms = None
        self._is_addressed = False
        self._answer = b""

    def tick(self, now_ms):
        if self._converting_since_ms is None:
            return
        if time.ticks_diff(now_ms, self._converting_since_ms) >= _CONVERSION_MS:
            self._converting_since_ms = None
            self._raw = round(world.quantity(self.quantities[0]) * 16)

    def reset_line(self):
        self._is_addressed = False
        self._answer = b""
        return not self.absent

    def write_byte(self, value):
        if self.absent:
            return
        if not self._is_addressed:
            self._is_addressed = value == 0xCC
        elif value == 0x44:
            self._converting_since_ms = time.ticks_ms()
        elif value == 0xBE:
            self._answer = self._scratchpad()

    def read_byte(self):
        if self.absent or not self._answer:
            return 0xFF
        value = self._answer[0]
        self._answer = self._answer[1:]
        return value

    def _scratchpad(self):
        data = struct.pack("<h", self._raw) + b"\x4b\x46\x7f\xff\x0c\x10"
        data += bytes([crc8(data)])
        return bytes([data[0] ^ 1]) + data[1:] if self.bad_checksum else data


def crc8(data):
    # X^8 + X^5 + X^4 + 1, lowest bit first
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x8C if crc & 1 else crc >> 1
    return crc
