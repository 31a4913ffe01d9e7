# Counts pulses: a flow sensor, an anemometer, a button.
#
# The interrupt only adds to a small integer, which takes no memory, and so works at any time.

import struct
from time import ticks_diff, ticks_ms, ticks_us

import machine
from node.calls import AT
from node.uptime import Uptime

COUNTER_READ = 22
COUNTER_RESET = 23

# The largest small integer of a 32-bit machine, where counting begins again
COUNT_MOST = 0x3FFFFFFF
_PULLS = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "": machine.Pin.PULL_NONE}


class Counter:
    def __init__(self, entry):
        self._count = 0
        # What the count was at the last reset: an interrupt may come between any two steps of the
        # loop, so that only the interrupt itself changes the count
        self._zero = 0
        self._debounce_us = entry["debounce_us"]
        self._last_us = ticks_us()
        self._age = Uptime()
        edge = machine.Pin.IRQ_FALLING if entry.get("active_low") else machine.Pin.IRQ_RISING
        self._pin = machine.Pin(entry["pin"], machine.Pin.IN, _PULLS[entry.get("pull", "")])
        self._pin.irq(self._pulse, edge, hard=True)

    def value(self, part=0):
        return None if part else (self._count - self._zero) & COUNT_MOST

    def handlers(self):
        return {COUNTER_READ: self._read, COUNTER_RESET: self._reset}

    def close(self):
        self._pin.irq(None)

    def tick(self, now_ms):
        self._age.advance(now_ms)

    def _pulse(self, _pin):
        # A hard interrupt: nothing here may allocate
        now_us = ticks_us()
        if self._debounce_us:
            # Any edge, also one that is not counted, begins the quiet time anew
            passed_us = ticks_diff(now_us, self._last_us)
            self._last_us = now_us
            if 0 <= passed_us < self._debounce_us:
                return
        # Never one more than the largest small integer, not even for a moment
        count = self._count
        self._count = 0 if count == COUNT_MOST else count + 1

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<II", answer, AT, self.value(0), self._age.milliseconds(ticks_ms()))
        return 8

    def _reset(self, arguments, answer, outputs):
        # Answers what had been counted until now
        size = self._read(arguments, answer, outputs)
        self._zero = (self._zero + struct.unpack_from("<I", answer, AT)[0]) & COUNT_MOST
        self._age = Uptime()
        return size
