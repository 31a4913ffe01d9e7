# An infrared receiver: "press" is a remote control that is pressed, [address, command] and how many
# times it says that it is held. Its bursts have the length that they have: a busy computer may
# stretch them, as a bad remote control does.

import time

import world

_UNIT_US = 562
_AGAIN_US = 40_000


class Thing:
    changeable = ("absent", "press", "damage")

    def __init__(self, name, pin):
        self.name = name
        self.pin = pin
        self.quantities = ()
        self.absent = False
        # Bits of the code that arrive wrong
        self.damage = 0
        self.press = None

    def tick(self, now_ms):
        if self.press is None:
            return
        pressed, self.press = self.press, None
        if self.absent:
            return
        address, command = pressed[0], pressed[1]
        code = address & 0xFF | (~address & 0xFF) << 8 if address < 0x100 else address
        code |= command << 16 | (~command & 0xFF) << 24
        self._send(code ^ self.damage)
        for _ in range(pressed[2] if len(pressed) > 2 else 0):
            self._last(_AGAIN_US)
            self._burst(16, 4)
            self._burst(1, 1)

    def _send(self, code):
        self._due_us = time.ticks_us()
        self._burst(16, 8)
        for at in range(32):
            self._burst(1, 3 if code >> at & 1 else 1)
        self._burst(1, 1)

    def _burst(self, on, off):
        world.edge(self.pin, 0)
        self._last(on * _UNIT_US)
        world.edge(self.pin, 1)
        self._last(off * _UNIT_US)

    def _last(self, microseconds):
        # From when it was due, so that what was late does not add up
        self._due_us = time.ticks_add(self._due_us, microseconds)
        while time.ticks_diff(self._due_us, time.ticks_us()) > 0:
            pass
