# A stepper motor on a slide, behind an A4988: it steps on each rising edge while it is enabled, and
# its contacts open at the ends of the way.

import world

# Where it stands at first, which nobody knows, and what is there to run into
_AT_FIRST = 12
_LENGTH = 65
_BEYOND = 5


class Thing:
    changeable = ("cut", "welded", "slips", "is_at")

    def __init__(self, name, pin, direction, enable, low, high):
        self.name = name
        self.pin = pin
        self.quantities = ()
        # The wire of a stop is broken; a contact never opens; the belt is loose
        self.cut = False
        self.welded = False
        self.slips = False
        self.is_at = _AT_FIRST
        self._direction = direction
        self._enable = enable
        self._low = low
        self._high = high
        self._level = 0
        self._steps = 0
        self._crashes = 0
        self._told = None

    def tick(self, now_ms):
        is_on = self._is_on()
        told = (self.is_at, is_on, self._crashes)
        if told != self._told:
            self._told = told
            world.record(
                {
                    "event": "stepper",
                    "name": self.name,
                    "at": self.is_at,
                    "on": is_on,
                    "steps": self._steps,
                    "crashes": self._crashes,
                }
            )

    def line(self, level):
        rises = level and not self._level
        self._level = level
        if not rises or not self._is_on() or self.slips:
            return
        self._steps += 1
        at = self.is_at + (1 if world.driven(self._direction) else -1)
        if -_BEYOND <= at <= _LENGTH + _BEYOND:
            self.is_at = at
        else:
            self._crashes += 1

    def shows(self, pin):
        # Contacts to ground that open; a broken wire is pulled up as an open one is
        if pin not in (self._low, self._high):
            return None
        is_met = self.is_at <= 0 if pin == self._low else self.is_at >= _LENGTH
        return 1 if self.cut or (is_met and not self.welded) else 0

    def _is_on(self):
        return world.driven(self._enable) == 0
