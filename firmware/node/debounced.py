# An input whose contact bounces: its level counts once it has been the same for a while.
#
# In the shape of a pin for reading, and without interrupts: whoever watches it asks in every pass.

from time import ticks_diff, ticks_ms


class Debounced:
    def __init__(self, pin, quiet_ms):
        self._pin = pin
        self._quiet_ms = quiet_ms
        self._settled = pin.value()
        self._seen = self._settled
        self._since_ms = ticks_ms()

    def value(self):
        return self._settled

    def tick(self, now_ms):
        level = self._pin.value()
        if level != self._seen:
            self._seen = level
            self._since_ms = now_ms
        elif level != self._settled and ticks_diff(now_ms, self._since_ms) >= self._quiet_ms:
            self._settled = level
