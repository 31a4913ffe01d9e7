# A motor behind an H-bridge with an enable input and one input for each direction: L298N, TB6612.
#
# To outputs.py it looks like a pin whose level is the speed in tenths of a percent, negative
# backward. Never are both directions on: a reversal is a stop, a rest, and a start.

import struct
from time import sleep_us, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

MOTOR_WRITE = 42

_FULL = const(1000)
_U16_FULL = const(65535)
# The transistors of a bridge take microseconds to open; a pass of the loop has time for this
_REST_US = const(1_000)


class Motor:
    OUT = machine.Pin.OUT
    safe = 0
    # What a rule of the board may set it to
    highest = _FULL

    def __init__(self, entry):
        if not hasattr(machine, "PWM"):
            raise ValueError("motor needs MicroPython 1.28 or newer")
        self._forward = _off(entry["forward"])
        self._backward = _off(entry["backward"])
        enable = machine.Pin(entry["pin"])
        self._pwm = machine.PWM(enable, freq=entry["frequency"], duty_u16=0)

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to stop it
        if level is None:
            return self._speed()
        if not level:
            self._stop()
            return None
        ahead = self._forward if level > 0 else self._backward
        behind = self._backward if level > 0 else self._forward
        if behind.value():
            self._stop()
            sleep_us(_REST_US)
        behind.value(0)
        ahead.value(1)
        self._pwm.duty_u16(abs(level) * _U16_FULL // _FULL)
        return None

    def close(self):
        self._pwm.deinit()
        self._forward.init(machine.Pin.IN)
        self._backward.init(machine.Pin.IN)

    def handlers(self):
        return {MOTOR_WRITE: self._write}

    def _stop(self):
        self._pwm.duty_u16(0)
        self._forward.value(0)
        self._backward.value(0)

    def _speed(self):
        # As the pins are, not as they were set
        forward, backward = self._forward.value(), self._backward.value()
        if forward and backward:
            self._stop()
            raise Refusal(frame.IO, "both directions of the bridge are on: look at its wires")
        duty = (self._pwm.duty_u16() * _FULL + _U16_FULL // 2) // _U16_FULL
        return duty * (forward - backward)

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, speed = struct.unpack_from("<Bh", arguments, 0)
        if abs(speed) > _FULL:
            raise Refusal(frame.OUT_OF_RANGE, "a speed is -100 to 100 %")
        struct.pack_into("<h", answer, AT, outputs.write(index, speed, ticks_ms()))
        return 2


def _off(name):
    return machine.Pin(name, machine.Pin.OUT, value=0)
