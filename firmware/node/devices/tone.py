# A tone: a piezo or a small loudspeaker without electronics of its own, driven by a timer.
#
# To outputs.py it looks like a pin whose level is the frequency in hertz; 0 is silence.

import struct
from time import ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

TONE_WRITE = 43

_LOWEST_HZ = const(20)
_HIGHEST_HZ = const(20_000)
# On for half of the time: as loud as it can be
_HALF = const(32_768)


class Tone:
    OUT = machine.Pin.OUT
    safe = 0
    # What a rule of the board may set it to
    highest = _HIGHEST_HZ

    def __init__(self, entry):
        if not hasattr(machine, "PWM"):
            raise ValueError("tone needs MicroPython 1.28 or newer")
        self._pwm = machine.PWM(machine.Pin(entry["pin"]), freq=1000, duty_u16=0)

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to silence it
        if level is None:
            return self._pwm.freq() if self._pwm.duty_u16() else 0
        if level:
            # A rule of the board may ask for less than a timer can
            self._pwm.freq(max(_LOWEST_HZ, level))
            self._pwm.duty_u16(_HALF)
        else:
            self._pwm.duty_u16(0)
        return None

    def close(self):
        self._pwm.deinit()

    def handlers(self):
        return {TONE_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, hz = struct.unpack_from("<BH", arguments, 0)
        if hz and not _LOWEST_HZ <= hz <= _HIGHEST_HZ:
            raise Refusal(frame.OUT_OF_RANGE, "a tone is 20 to 20000 Hz, and 0 is silence")
        struct.pack_into("<H", answer, AT, outputs.write(index, hz, ticks_ms()))
        return 2
