# A DHT22: called by a line that is low for a millisecond, it answers with pulses.

import time

import world

_CALL_US = 800
_READY_MS = 2_000
# The line idles, then the answer to the call, then the bits
_ANSWER_US = 80
_ZERO_US = 26
_ONE_US = 70


class Thing:
    changeable = ("absent", "bad_checksum", "complements")

    def __init__(self, name, pin, temperature="air_temperature", humidity="humidity"):
        self.name = name
        self.pin = pin
        self.quantities = (temperature, humidity)
        self.absent = False
        # A bit that an interrupt of the listener has spoiled
        self.bad_checksum = False
        # Built since some year: below zero it sends the complement of two
        self.complements = False
        self._low_since_us = None
        self._answered_ms = time.ticks_add(time.ticks_ms(), -_READY_MS)
        self._pulses = []

    def tick(self, now_ms):
        pass

    def line(self, level):
        now_us = time.ticks_us()
        if not level:
            self._low_since_us = now_us
            return
        low_since_us = self._low_since_us
        self._low_since_us = None
        self._pulses = []
        if low_since_us is None or time.ticks_diff(now_us, low_since_us) < _CALL_US:
            return
        now_ms = time.ticks_ms()
        if self.absent or time.ticks_diff(now_ms, self._answered_ms) < _READY_MS:
            return
        self._answered_ms = now_ms
        self._pulses = self._answer()

    def pulse_us(self, limit_us):
        # -1: the line stays high
        return min(limit_us, self._pulses.pop(0)) if self._pulses else -1

    def _answer(self):
        temperature, humidity = (round(world.quantity(name) * 10) for name in self.quantities)
        sign = 0x8000 if temperature < 0 else 0
        told = temperature & 0xFFFF if self.complements else abs(temperature) | sign
        data = humidity << 16 | told
        data = data << 8 | sum(data.to_bytes(4, "big")) & 0xFF
        if self.bad_checksum:
            data ^= 1 << 20
        bits = [_ONE_US if data >> 39 - bit & 1 else _ZERO_US for bit in range(40)]
        return [_ANSWER_US] + bits  # noqa: RUF005  - MicroPython has no [x, *bits]
