# An SHT3x: it takes 15 ms for a measurement, and answers each once.

import time

import world

_MEASURE_MS = 15
_NOT_ACKNOWLEDGED = 19


class Thing:
    changeable = ("absent", "bad_checksum")

    def __init__(self, name, pin, address=0x44, temperature="air_temperature", humidity="humidity"):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = (temperature, humidity)
        self.absent = False
        self.bad_checksum = False
        self._began_ms = None

    def tick(self, now_ms):
        pass

    def write(self, data):
        if data == b"\x24\x00":
            self._began_ms = time.ticks_ms()

    def read(self, count):
        began_ms, self._began_ms = self._began_ms, None
        if began_ms is None or time.ticks_diff(time.ticks_ms(), began_ms) < _MEASURE_MS:
            raise OSError(_NOT_ACKNOWLEDGED)
        temperature, humidity = (world.quantity(name) for name in self.quantities)
        data = word((temperature + 45) / 175) + word(humidity / 100)
        if self.bad_checksum:
            data = bytes([data[0] ^ 1]) + data[1:]
        return data[:count]


def word(share):
    # With its checksum: two bytes through a shift register of eight bits that begins full
    value = max(0, min(65535, round(share * 65535)))
    return checked(bytes([value >> 8, value & 0xFF]))


def checked(data):
    register = 0xFF
    for byte in data:
        for bit in range(7, -1, -1):
            falls_out = (register >> 7 ^ byte >> bit) & 1
            register = (register << 1 & 0xFF) ^ (0x31 if falls_out else 0)
    return data + bytes([register])
