# An ADS1115: four inputs and one converter, which takes 1.2 ms at 860 conversions a second.

import time

import world

_CONVERSION_US = 1_200
_FULL_V = (6.144, 4.096, 2.048, 1.024, 0.512, 0.256)
_SINGLE = 0x0100
_RATE_860 = 0x00E0


class Thing:
    changeable = ("absent", "never_finishes")

    def __init__(self, name, pin, address=0x48, inputs=("ain0", "ain1", "ain2", "ain3")):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = inputs
        self.absent = False
        self.never_finishes = False
        self._settings = 0x8583
        self._pointer = 0
        self._began_us = None
        self._result = 0

    def tick(self, now_ms):
        pass

    def write(self, data):
        if data:
            self._pointer = data[0]
        if len(data) == 3 and data[0] == 1:
            self._settings = data[1] << 8 | data[2]
            if self._settings & 0x8000 and self._settings & (_SINGLE | _RATE_860) == (
                _SINGLE | _RATE_860
            ):
                self._began_us = time.ticks_us()

    def read(self, count):
        is_done = self._is_done()
        if self._pointer == 0:
            value = self._result & 0xFFFF
        else:
            value = self._settings & 0x7FFF | (0x8000 if is_done else 0)
        return bytes([value >> 8, value & 0xFF])[:count]

    def _is_done(self):
        # A result from before stays until the next one is there
        if self._began_us is None:
            return True
        passed_us = time.ticks_diff(time.ticks_us(), self._began_us)
        if passed_us < _CONVERSION_US or self.never_finishes:
            return False
        self._began_us = None
        source = self._settings >> 12 & 7
        volts = world.quantity(self.quantities[source - 4]) if source >= 4 else 0.0
        full = _FULL_V[min(5, self._settings >> 9 & 7)]
        self._result = max(-32768, min(32767, round(volts / full * 32768)))
        return True
