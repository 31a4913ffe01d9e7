# The watchdog of the board: it resets a board whose loop does not come around.
#
# While flash is erased and written nothing runs, for up to 2.8 s where sectors are large. So a write
# that has been announced gets a longer time, and only so many of them in one pass: a loop that
# writes and writes ends in a reset like any other that does not come around.

import machine
from micropython import const

# Longer than any pass can take, short enough that a wedged board is safe soon
_PASS_MS = const(2_000)
# Of two sectors, the largest among them, at the longest times of the data sheets
_WRITE_MS = const(8_000)
# An update marks a slot and a stop is written down in both places: all in one pass
_WRITES_MOST = const(6)


class Watchdog:
    def __init__(self):
        self._timer = machine.WDT(timeout=_PASS_MS)
        self._writes = 0

    def passed(self):
        # The loop has come around without a fault
        if self._writes:
            self._writes = 0
            self._timer = machine.WDT(timeout=_PASS_MS)
        self._timer.feed()

    def allow_write(self):
        # Flash is about to be written
        if self._writes < _WRITES_MOST:
            self._writes += 1
            self._timer = machine.WDT(timeout=_WRITE_MS)
            # The new time counts from here on
            self._timer.feed()
