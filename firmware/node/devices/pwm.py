# An output that is on for a share of the time: a fan, a dimmed lamp, a motor behind its driver.
#
# To outputs.py it looks like a pin whose level is the duty in tenths of a percent, so that lease,
# limits and safe value are those of every output. Pins of one timer share its frequency.

import struct
from time import ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

PWM_WRITE = 20

_FULL = const(1000)
_U16_FULL = const(65535)
_HZ_MOST = const(20_000)


class Pwm:
    OUT = machine.Pin.OUT
    # What a rule of the board may set it to
    highest = _FULL

    def __init__(self, entry):
        if not hasattr(machine, "PWM"):
            raise ValueError("pwm needs MicroPython 1.28 or newer")
        self._hz = entry["frequency"]
        self.safe = entry["safe"] * 10
        self._pwm = machine.PWM(
            machine.Pin(entry["pin"]),
            freq=self._hz,
            duty_u16=_to_u16(self.safe),
            invert=entry.get("active_low", False),
        )

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        if level is None:
            return (self._pwm.duty_u16() * _FULL + _U16_FULL // 2) // _U16_FULL
        if self._pwm.freq() != self._hz:
            self._pwm.freq(self._hz)
        self._pwm.duty_u16(_to_u16(level))
        return None

    def close(self):
        self._pwm.deinit()

    def handlers(self):
        return {PWM_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 5)
        index, hz, duty = struct.unpack_from("<BHH", arguments, 0)
        if duty > _FULL:
            raise Refusal(frame.OUT_OF_RANGE, "a duty is 0 to 100 %")
        if hz > _HZ_MOST:
            raise Refusal(frame.OUT_OF_RANGE, "a frequency is at most 20000 Hz")
        before_hz = self._hz
        # 0 keeps the one it has
        self._hz = hz or before_hz
        try:
            duty = outputs.write(index, duty, ticks_ms())
        except Refusal:
            self._hz = before_hz
            raise
        struct.pack_into("<HH", answer, AT, self._pwm.freq(), duty)
        return 4


def _to_u16(duty):
    return duty * _U16_FULL // _FULL
