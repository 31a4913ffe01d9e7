# The dead man's handle: outputs go safe when the Pi is silent, even when Python is not listening.
#
# A hardware timer looks every 10 ms, in a hard interrupt, while a collection runs and while the
# loop is stuck. Nothing in it may allocate: integers, and objects that were made long before.

from time import ticks_diff, ticks_ms

import micropython
import pyb
from micropython import const

# The Pi sends something every 120 ms while it holds an output: three of these may be lost
SILENCE_MS = const(500)
# A pass takes 10 ms; one that takes this long is stuck, and so is every rule of the loop
_STUCK_MS = const(500)
_LOOKS_HZ = const(100)
_EXCEPTION_BYTES = const(100)


class DeadMan:
    def __init__(self, outputs):
        self._outputs = outputs
        self._heard_ms = ticks_ms()
        self._passed_ms = self._heard_ms
        self._timer = None
        # Made once: asking for a bound method takes memory
        self._callback = self._look

    def start(self, timer_number):
        if hasattr(micropython, "alloc_emergency_exception_buf"):
            # An exception in an interrupt needs a place that is there already
            micropython.alloc_emergency_exception_buf(_EXCEPTION_BYTES)
        self._passed_ms = ticks_ms()
        self._timer = pyb.Timer(timer_number, freq=_LOOKS_HZ)
        self._timer.callback(self._callback)

    def heard(self, now_ms):
        # A valid frame of the session has come
        self._heard_ms = now_ms

    def passed(self, now_ms):
        # The loop has come around
        self._passed_ms = now_ms

    def _look(self, _timer):
        # In a hard interrupt
        outputs = self._outputs
        now_ms = ticks_ms()
        if outputs.leased and ticks_diff(now_ms, self._heard_ms) >= SILENCE_MS:
            outputs.trip(outputs.leased)
        if ticks_diff(now_ms, self._passed_ms) >= _STUCK_MS:
            outputs.trip(-1)
