# An AHT20: not calibrated until it is told so, busy for 80 ms with a measurement.

import time

import world
from attached.sht3x import checked

_MEASURE_MS = 80
_BUSY = 0x80
_CALIBRATED = 0x08
_IDLE = 0x10


class Thing:
    changeable = ("absent", "bad_checksum")

    def __init__(self, name, pin, address=0x38, temperature="air_temperature", humidity="humidity"):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = (temperature, humidity)
        self.bad_checksum = False
        self._absent = False
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
        if data == b"\xbe\x08\x00":
            self._status |= _CALIBRATED
        elif data == b"\xac\x33\x00":
            self._began_ms = time.ticks_ms()

    def read(self, count):
        status = self._status
        if self._began_ms is not None:
            if time.ticks_diff(time.ticks_ms(), self._began_ms) < _MEASURE_MS:
                status |= _BUSY
            else:
                self._measure()
        data = checked(bytes([status]) + self._measured)
        if self.bad_checksum:
            data = data[:1] + bytes([data[1] ^ 1]) + data[2:]
        return data[:count]

    def _switch_on(self):
        self._status = _IDLE
        self._began_ms = None
        self._measured = bytes(5)

    def _measure(self):
        self._began_ms = None
        temperature, humidity = (world.quantity(name) for name in self.quantities)
        raw_t = round((temperature + 50) / 200 * (1 << 20))
        raw_h = min((1 << 20) - 1, round(humidity / 100 * (1 << 20)))
        self._measured = (raw_h << 20 | raw_t).to_bytes(5, "big")
