# An HC-SR04: called by a pulse, it raises its echo line for as long as sound takes there and back.
#
# An echo takes its time in the pass that called: what a board does meanwhile is done afterwards.

import time

import world

_CALL_US = 10
_NEAREST_MM = 20
_FURTHEST_MM = 4_000
_US_PER_MM = 2_000 / 343
# With nothing there the line falls by itself, later than any echo
_NOTHING_MS = 38


class Thing:
    changeable = ("absent",)

    def __init__(self, name, pin, echo, distance="distance"):
        self.name = name
        self.pin = pin
        self.quantities = (distance,)
        self.absent = False
        self._echo = echo
        self._raised_us = None
        self._falls_ms = None

    def tick(self, now_ms):
        if self._falls_ms is not None and time.ticks_diff(now_ms, self._falls_ms) >= 0:
            self._falls_ms = None
            world.edge(self._echo, 0)

    def line(self, level):
        now_us = time.ticks_us()
        if level:
            self._raised_us = now_us
            return
        raised_us, self._raised_us = self._raised_us, None
        if raised_us is None or time.ticks_diff(now_us, raised_us) < _CALL_US:
            return
        if self.absent or self._falls_ms is not None:
            return
        self._answer(world.quantity(self.quantities[0]))

    def _answer(self, millimetres):
        world.edge(self._echo, 1)
        if not _NEAREST_MM <= millimetres <= _FURTHEST_MM:
            self._falls_ms = time.ticks_add(time.ticks_ms(), _NOTHING_MS)
            return
        echo_us = round(millimetres * _US_PER_MM)
        began_us = time.ticks_us()
        while time.ticks_diff(time.ticks_us(), began_us) < echo_us:
            pass
        world.edge(self._echo, 0)
