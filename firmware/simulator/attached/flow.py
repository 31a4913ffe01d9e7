# A flow sensor: it turns, and pulses, while its pump is on.

import time

import world

# A pass that took longer does not bring a gush
_LONGEST_STEP_MS = 100


class Thing:
    changeable = ("blocked", "pulses_per_s")

    def __init__(self, name, pin, pump, pulses_per_s=50):
        self.name = name
        self.pin = pin
        self.quantities = ()
        self.pulses_per_s = pulses_per_s
        # A dry tank: the pump runs and nothing comes
        self.blocked = False
        self._pump = pump
        self._due = 0.0
        self._at_ms = time.ticks_ms()

    def tick(self, now_ms):
        passed_ms = min(_LONGEST_STEP_MS, time.ticks_diff(now_ms, self._at_ms))
        self._at_ms = now_ms
        if self.blocked or not world.is_on(self._pump):
            return
        self._due += passed_ms * self.pulses_per_s / 1000
        while self._due >= 1:
            self._due -= 1
            world.edge(self.pin, 1)
            world.edge(self.pin, 0)
