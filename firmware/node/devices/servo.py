# A servo: an angle, told by the length of a pulse every 20 ms.
#
# To outputs.py it looks like a pin whose level is the angle in degrees. Its safe value is RELEASED
# unless the configuration names an angle: without pulses it turns no more and holds nothing.

import struct
from time import ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

SERVO_WRITE = 21

RELEASED = -1
_HZ = const(50)
# Half the shortest pulse that any servo is built for: no pulses at all
_NO_PULSE_US = const(200)


class Servo:
    OUT = machine.Pin.OUT

    def __init__(self, entry):
        if not hasattr(machine, "PWM"):
            raise ValueError("servo needs MicroPython 1.28 or newer")
        self._degrees = entry["degrees"]
        # What a rule of the board may set it to
        self.highest = self._degrees
        self._least_us = entry["least_us"]
        self._span_us = entry["most_us"] - self._least_us
        if self._span_us < self._degrees:
            raise ValueError("most_us is larger than least_us, by 1 for each degree at least")
        self.safe = entry["safe"]
        if self.safe > self._degrees:
            raise ValueError("safe is a whole number, -1 to %d" % self._degrees)
        self._pwm = machine.PWM(machine.Pin(entry["pin"]), freq=_HZ, duty_ns=self._ns(self.safe))

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        if level is not None:
            self._pwm.duty_ns(self._ns(level))
            return None
        pulse_us = (self._pwm.duty_ns() + 500) // 1000
        if pulse_us < _NO_PULSE_US:
            return RELEASED
        from_zero = (pulse_us - self._least_us) * self._degrees
        return max(0, min(self._degrees, (from_zero + self._span_us // 2) // self._span_us))

    def close(self):
        self._pwm.deinit()

    def handlers(self):
        return {SERVO_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, angle = struct.unpack_from("<Bh", arguments, 0)
        if not RELEASED <= angle <= self._degrees:
            raise Refusal(frame.OUT_OF_RANGE, "this servo turns 0 to %d degrees" % self._degrees)
        struct.pack_into("<h", answer, AT, outputs.write(index, angle, ticks_ms()))
        return 2

    def _ns(self, angle):
        if angle == RELEASED:
            return 0
        return (self._least_us + angle * self._span_us // self._degrees) * 1000
