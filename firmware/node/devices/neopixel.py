# A chain of NeoPixels (WS2812), lit in ranges of one colour.
#
# To outputs.py it looks like a pin: 1 while any pixel is lit, 0 when all are dark, which is its
# safe value. Sending 64 pixels keeps interrupts off for 2 ms; what the link loses is sent again.
# Darkness is also sent from the hard interrupt of the dead man's handle: nothing here takes memory
# for it.

from time import ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

PIXELS_WRITE = 27

_COLOURS = const(3)
# Of a zero and a one, high and low, in nanoseconds
_TIMING = (400, 850, 800, 450)


class Neopixel:
    OUT = machine.Pin.OUT

    def __init__(self, entry):
        self._most = entry["count"]
        self._brightest = entry["brightest"]
        # Dark, and nothing else
        self.safe = entry["safe"]
        self._pin = machine.Pin(entry["pin"], machine.Pin.OUT, value=0)
        # In the order of the chain: green, red, blue. What is wanted is shown once it may be on: an
        # interrupt that makes it dark meanwhile does not lose it, nor bring it back later.
        self._shown = bytearray(self._most * _COLOURS)
        self._wanted = bytearray(self._most * _COLOURS)

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # Pixels cannot be asked: what was sent last is what is told
        if level is None:
            return 1 if any(self._shown) else 0
        if level:
            self._shown[:] = self._wanted
        else:
            for at in range(len(self._shown)):
                self._shown[at] = 0
        machine.bitstream(self._pin, 0, _TIMING, self._shown)
        return None

    def close(self):
        self._pin.init(machine.Pin.IN)

    def handlers(self):
        return {PIXELS_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 6)
        index, first, count, red, green, blue = arguments[:6]
        if not count or first + count > self._most:
            raise Refusal(frame.OUT_OF_RANGE, "this chain has %d pixels" % self._most)
        if max(red, green, blue) > self._brightest:
            raise Refusal(frame.OUT_OF_RANGE, "no colour above %d here" % self._brightest)
        self._wanted[:] = self._shown
        for at in range(first * _COLOURS, (first + count) * _COLOURS, _COLOURS):
            self._wanted[at] = green
            self._wanted[at + 1] = red
            self._wanted[at + 2] = blue
        outputs.write(index, 1 if any(self._wanted) else 0, ticks_ms())
        answer[AT] = self._lit()
        return 1

    def _lit(self):
        return sum(
            1 for at in range(0, len(self._shown), _COLOURS) if any(self._shown[at : at + 3])
        )
