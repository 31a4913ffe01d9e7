# An HX711: a load cell, by 24 bits that are clocked out of it.
#
# A clock that stays high for 60 us switches it off: interrupts wait while it is high, two
# microseconds at a time. The value is the median of three: one bit that fell over changes nothing.
# The order of bits and pulses is that of its data sheet (Avia Semiconductor).

import struct
from time import ticks_diff, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal

WEIGHT_READ = 52

_BITS = const(24)
# By the gain: what is clocked out chooses the next one
_PULSES = {128: 25, 32: 26, 64: 27}
_SIGN = const(0x800000)
_HIGHEST = const(0x7FFFFF)
# It measures 10 times a second at least, and takes 400 ms after power
_SILENT_MS = const(1_000)
# The first after power and after a change of gain has not settled
_UNSETTLED = const(4)
_MEDIAN_OF = const(3)

_UNKNOWN, _KNOWN, _SILENT, _LOW, _BEYOND = range(5)


class Hx711:
    def __init__(self, entry):
        if entry["gain"] not in _PULSES:
            raise ValueError("gain is 32, 64 or 128")
        self._pulses = _PULSES[entry["gain"]]
        self._zero = entry["zero"]
        # Counts of a kilogram; 0: nobody has calibrated it
        self._per_kg = entry["per_kg"]
        self._clock = machine.Pin(entry["pin"], machine.Pin.OUT, value=0)
        # Pulled up: a wire that is not there never has anything new
        self._data = machine.Pin(entry["data"], machine.Pin.IN, machine.Pin.PULL_UP)
        self._state = _UNKNOWN
        self._begin()
        self._heard_ms = ticks_ms()

    def value(self, part=0):
        # Part 0 is what the converter counts, part 1 tenths of a gram
        if part > 1 or (part and not self._per_kg):
            return None
        if self._state != _KNOWN:
            self._refuse()
        counts = sorted(self._last)[_MEDIAN_OF // 2]
        return (counts - self._zero) * 10_000 // self._per_kg if part else counts

    def handlers(self):
        return {WEIGHT_READ: self._read}

    def close(self):
        self._clock.init(machine.Pin.IN)

    def tick(self, now_ms):
        if self._data.value():
            if ticks_diff(now_ms, self._heard_ms) > _SILENT_MS:
                self._fail(_SILENT)
                self._heard_ms = now_ms
            return
        self._heard_ms = now_ms
        self._take(self._clocked_out())

    def _begin(self):
        self._last = []
        self._unsettled = _UNSETTLED

    def _refuse(self):
        if self._state == _SILENT:
            raise Refusal(frame.IO, "no HX711 answers")
        if self._state == _LOW:
            raise Refusal(frame.IO, "the data line of the HX711 stays low")
        if self._state == _BEYOND:
            raise Refusal(frame.IO, "the load is beyond what the HX711 measures")
        raise Refusal(frame.BUSY_CODE, "the first measurement is under way")

    def _fail(self, state):
        self._begin()
        self._state = state

    def _clocked_out(self):
        # Highest bit first
        word = 0
        for _ in range(self._pulses):
            state = machine.disable_irq()
            self._clock.value(1)
            self._clock.value(0)
            machine.enable_irq(state)
            word = word << 1 | self._data.value()
        return word >> (self._pulses - _BITS)

    def _take(self, word):
        # After its pulses the line is high until there is something new
        if not self._data.value():
            self._fail(_LOW)
            return
        if self._unsettled:
            self._unsettled -= 1
            return
        if word in (_HIGHEST, _SIGN):
            self._fail(_BEYOND)
            self._unsettled = 0
            return
        self._last = self._last[1 - _MEDIAN_OF :]
        self._last.append((word ^ _SIGN) - _SIGN)
        if len(self._last) == _MEDIAN_OF:
            self._state = _KNOWN

    def _read(self, _arguments, answer, _outputs):
        # The result ends before a weight that nobody has calibrated
        struct.pack_into("<i", answer, AT, self.value(0))
        if not self._per_kg:
            return 4
        struct.pack_into("<i", answer, AT + 4, self.value(1))
        return 8
