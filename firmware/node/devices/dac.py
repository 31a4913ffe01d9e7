# A converter of the microcontroller that makes a voltage: 0 V to its supply, in 4096 steps.
#
# To outputs.py it looks like a pin whose level is millivolts; 0 V is its safe value.

import struct
from time import ticks_ms

import board
import frame
import machine
import pyb
from micropython import const
from node.calls import AT, Refusal, need

DAC_WRITE = 54

_BITS = const(12)
_STEPS = const(4_095)


class Dac:
    OUT = machine.Pin.OUT
    safe = 0

    def __init__(self, entry):
        if not hasattr(pyb, "DAC"):
            raise ValueError("this build of MicroPython has no DAC")
        # What a rule of the board may set it to
        self.highest = min(entry["highest_mv"], board.SUPPLY_MV)
        self._millivolts = 0
        self._dac = pyb.DAC(machine.Pin(entry["pin"]), bits=_BITS)
        self._dac.write(0)

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to take it to 0 V
        if level is None:
            return self._millivolts
        self._dac.write(level * _STEPS // board.SUPPLY_MV)
        self._millivolts = level
        return None

    def close(self):
        self._dac.deinit()

    def handlers(self):
        return {DAC_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, millivolts = struct.unpack_from("<BH", arguments, 0)
        if millivolts > self.highest:
            raise Refusal(frame.OUT_OF_RANGE, "this output goes 0 to %d mV" % self.highest)
        struct.pack_into("<H", answer, AT, outputs.write(index, millivolts, ticks_ms()))
        return 2
