# An SCD40: once it is told to, it has something new every 5 s, and answers each measurement once.

import time

import world
from attached.sht3x import checked, word

_NOT_ACKNOWLEDGED = 19


class Thing:
    changeable = ("absent", "bad_checksum", "every_ms", "is_deaf")

    def __init__(self, name, pin, address=0x62, co2="co2", every_ms=5_000):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = (co2, "air_temperature", "humidity")
        self.every_ms = every_ms
        self.bad_checksum = False
        # It answers, and measures nothing
        self.is_deaf = False
        self._absent = False
        self._switch_on()

    @property
    def absent(self):
        return self._absent

    @absent.setter
    def absent(self, value):
        self._absent = value
        self._switch_on()

    def tick(self, now_ms):
        pass

    def write(self, data):
        if data == b"\x21\xb1":
            if self._read_ms is not None:
                raise OSError(_NOT_ACKNOWLEDGED)
            self._read_ms = time.ticks_ms()
        elif data == b"\xe4\xb8":
            # The highest bits of the answer are always set
            self._answer = checked(b"\x80\x06" if self._is_ready() else b"\x80\x00")
        elif data == b"\xec\x05":
            self._answer = self._measured() if self._is_ready() else b""

    def read(self, count):
        data, self._answer = self._answer, b""
        if len(data) < count:
            raise OSError(_NOT_ACKNOWLEDGED)
        if self.bad_checksum:
            data = bytes([data[0] ^ 1]) + data[1:]
        return data[:count]

    def _switch_on(self):
        self._answer = b""
        self._read_ms = None

    def _is_ready(self):
        if self._read_ms is None or self.is_deaf:
            return False
        return time.ticks_diff(time.ticks_ms(), self._read_ms) >= self.every_ms

    def _measured(self):
        self._read_ms = time.ticks_ms()
        co2, temperature, humidity = (world.quantity(name) for name in self.quantities)
        ppm = checked(bytes([int(co2) >> 8, int(co2) & 0xFF]))
        return ppm + word((temperature + 45) / 175) + word(humidity / 100)
