# What every I2C sensor has in common that is told to measure and asked for the result later.
#
# It measures by itself, a step in a pass of the loop; reading answers what the last measurement
# said, at once. The driver has
#   begin(bus, address)    tells it to measure; returns the milliseconds until it may be asked
#   finish(bus, address)   returns the values as a tuple, None where it is not ready yet

from time import ticks_add, ticks_diff, ticks_ms

import frame
from micropython import const
from node.calls import Refusal
from node.devices.i2c import open_bus

# Quick enough for a room, rare enough not to warm what is measured
_PAUSE_MS = const(2_000)
# One that is not ready is asked again so soon, and so often
_AGAIN_MS = const(20)
_AGAIN_MOST = const(10)


class Stepwise:
    # A part of a driver, not its base: private names of two files may become the same short one

    def __init__(self, entry, driver, name, pause_ms=_PAUSE_MS):
        self._driver = driver
        self._name = name
        self._pause_ms = pause_ms
        self._bus = open_bus(entry)
        self._address = entry["address"]
        self._values = None
        # Of the last step; frame.OK once there are values
        self.code = frame.BUSY_CODE
        self._trouble = "the first measurement is under way"
        self._is_measuring = False
        self._asked = 0
        self._next_ms = ticks_ms()

    def value(self, part=0):
        values = self.values()
        return values[part] if part < len(values) else None

    def values(self):
        if self._values is None:
            raise Refusal(self.code, self._trouble)
        return self._values

    def tick(self, now_ms):
        if ticks_diff(now_ms, self._next_ms) >= 0:
            self._next_ms = ticks_add(now_ms, self._step())

    def _step(self):
        # Returns the milliseconds until the next one
        try:
            if not self._is_measuring:
                self._asked = 0
                wait_ms = self._driver.begin(self._bus, self._address)
                self._is_measuring = True
                return wait_ms
            values = self._driver.finish(self._bus, self._address)
        except OSError:
            return self._fail(frame.IO, "no %s answers at address %d" % (self._name, self._address))
        except Refusal as refusal:
            return self._fail(refusal.code, refusal.text)
        if values is None:
            self._asked += 1
            if self._asked > _AGAIN_MOST:
                return self._fail(frame.IO, "the %s does not finish" % self._name)
            return _AGAIN_MS
        self._values = values
        self.code = frame.OK
        self._is_measuring = False
        return self._pause_ms

    def _fail(self, code, trouble):
        self._values = None
        self.code = code
        self._trouble = trouble
        self._is_measuring = False
        return self._pause_ms
