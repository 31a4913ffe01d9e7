# An HX711 with a load cell: something new every 100 ms, the gain by the number of pulses. A pulse
# that an interrupt could have made longer than 60 us switches it off.

import time

import interrupts
import world

_EVERY_MS = 100
_PULSES = 25
_SIGN = 0x800000


class Thing:
    changeable = ("absent", "shorted", "glitches")

    def __init__(self, name, pin, data, load="load", zero=8_000, per_kg=420_000):
        self.name = name
        self.pin = pin
        self.quantities = (load,)
        self.absent = False
        # The data line touches ground
        self.shorted = False
        # Every so many measurements one bit falls over; 0: none
        self.glitches = 0
        self._data = data
        self._zero = zero
        self._per_kg = per_kg
        self._level = 0
        self._number = 0
        self._pulses = 0
        self._word = 0
        self._is_off = False
        self._new_ms = time.ticks_ms()

    def tick(self, now_ms):
        # One that was not read to its end has something new all the same
        if self._pulses and time.ticks_diff(now_ms, self._new_ms) >= _EVERY_MS:
            self._pulses = 0

    def line(self, level):
        rises = level and not self._level
        self._level = level
        if not rises:
            return
        if not interrupts.step.is_open:
            self._is_off = True
            return
        if not self._pulses:
            self._measure()
        self._pulses += 1

    def shows(self, pin):
        # It is wired where somebody drives its clock: elsewhere that pin is a contact or a bell
        if pin != self._data or self.absent or world.driven(self.pin) is None:
            return None
        if self.shorted:
            return 0
        if self._is_off:
            return 1
        if not self._pulses:
            is_new = time.ticks_diff(time.ticks_ms(), self._new_ms) >= _EVERY_MS
            return 0 if is_new else 1
        if self._pulses >= _PULSES:
            return 1
        return self._word >> (24 - self._pulses) & 1

    def _measure(self):
        self._new_ms = time.ticks_ms()
        self._number += 1
        grams = world.quantity(self.quantities[0])
        counts = self._zero + round(grams * self._per_kg / 1000)
        self._word = max(-_SIGN, min(_SIGN - 1, counts)) & 0xFFFFFF
        if self.glitches and self._number % self.glitches == 0:
            self._word ^= 0x400000
