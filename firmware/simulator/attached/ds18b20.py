# A DS18B20, or a DS1822: it converts for 750 ms and answers with its scratchpad and a checksum.

import struct
import time

import world

_CONVERSION_MS = 750
_POWER_ON = 0x0550


class Thing:
    changeable = ("absent", "bad_checksum")

    def __init__(
        self, name, pin, temperature="water_temperature", serial=0x0123456789AB, family=0x28
    ):
        self.name = name
        self.pin = pin
        self.quantities = (temperature,)
        self.absent = False
        # A line that picks up noise: one bit of the answer is wrong
        self.bad_checksum = False
        self._raw = _POWER_ON
        self._has_measured = False
        self._converting_since_ms = None
        rom = bytes([family]) + serial.to_bytes(6, "little")
        self._rom = rom + bytes([crc8(rom)])
        self._is_addressed = False
        # What has arrived of the number that is called; None: none is being called
        self._called = None
        # Bits of a search that are done, and whether the bit, its opposite or a choice is next
        self._searched = None
        self._turn = 0
        self._answer = b""

    def tick(self, now_ms):
        if self._converting_since_ms is None:
            return
        if time.ticks_diff(now_ms, self._converting_since_ms) >= _CONVERSION_MS:
            self._converting_since_ms = None
            self._has_measured = True
            self._raw = round(world.quantity(self.quantities[0]) * 16)

    def reset_line(self):
        self._is_addressed = False
        self._called = None
        self._searched = None
        self._answer = b""
        return not self.absent

    def write_byte(self, value):
        if self.absent:
            return
        if self._called is not None:
            self._called += bytes([value])
            if len(self._called) == len(self._rom):
                self._is_addressed = self._called == self._rom
                self._called = None
        elif not self._is_addressed:
            self._obey_first(value)
        elif value == 0x44:
            self._converting_since_ms = time.ticks_ms()
        elif value == 0xBE:
            self._answer = self._scratchpad()

    def write_bit(self, value):
        if self.absent or self._searched is None:
            return
        is_meant = value == self._bit()
        self._turn = 0
        self._searched = self._searched + 1 if is_meant and self._searched < 63 else None

    def read_bit(self):
        if self.absent or self._searched is None or self._turn > 1:
            return 1
        self._turn += 1
        return self._bit() if self._turn == 1 else 1 - self._bit()

    def _obey_first(self, value):
        # The first byte after a reset says who is meant
        if value == 0xCC:
            self._is_addressed = True
        elif value == 0x55:
            self._called = b""
        elif value == 0xF0:
            self._searched = 0
            self._turn = 0

    def _bit(self):
        return self._rom[self._searched >> 3] >> (self._searched & 7) & 1

    def read_byte(self):
        if self.absent or not self._answer:
            return 0xFF
        value = self._answer[0]
        self._answer = self._answer[1:]
        return value

    def _scratchpad(self):
        count = 16 - (self._raw & 15) if self._has_measured else 12
        data = struct.pack("<h4sBB", self._raw, b"\x4b\x46\x7f\xff", count, 16)
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
