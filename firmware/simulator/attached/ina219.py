# An INA219 at a shunt of 100 mOhm: it measures the supply of whatever hangs behind it.

import time

import world

_SHUNT_OHM = 0.1
_POWER_ON = 0x399F
# Both values, 128 samples each
_FIRST_MS = 138
_READY = 2
_OVERFLOW = 1
# Beyond 320 mV the register stays at this
_SHUNT_MOST = 32_000


class Thing:
    changeable = ("absent", "overflows")

    def __init__(self, name, pin, address=0x40, volts="supply_volts", amperes="supply_amperes"):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = (volts, amperes)
        # Its calculator has run over
        self.overflows = False
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
        if data:
            self._pointer = data[0]
        if len(data) == 3 and data[0] == 0:
            self._settings = data[1] << 8 | data[2]
            self._began_ms = time.ticks_ms()

    def read(self, count):
        volts, amperes = (world.quantity(name) for name in self.quantities)
        value = 0
        if self._pointer == 0:
            value = self._settings
        elif self._pointer == 1:
            steps = round(amperes * _SHUNT_OHM / 10e-6)
            value = max(-_SHUNT_MOST, min(_SHUNT_MOST, steps)) & 0xFFFF
        elif self._pointer == 2:
            value = round(volts / 0.004) << 3 | self._flags()
        return bytes([value >> 8, value & 0xFF])[:count]

    def _flags(self):
        is_ready = time.ticks_diff(time.ticks_ms(), self._began_ms) >= _FIRST_MS
        return (_READY if is_ready else 0) | (_OVERFLOW if self.overflows else 0)

    def _switch_on(self):
        self._settings = _POWER_ON
        self._pointer = 0
        self._began_ms = time.ticks_ms()
