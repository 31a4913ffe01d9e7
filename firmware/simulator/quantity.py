# A number of the simulated world.

import time

import board

SUPPLY_V = board.SUPPLY_MV / 1000
# What is measured without anybody having said how it is; devices add theirs
ORDINARY = {"temperature": 25.0, "supply": SUPPLY_V}


class Quantity:
    # A value that drifts with time between two bounds.

    def __init__(self, value, drift_per_s=0.0, lowest=-1e9, highest=1e9):
        self._start = value
        self._drift_per_s = drift_per_s
        self._lowest = lowest
        self._highest = highest
        self._since_ms = time.ticks_ms()

    def now(self):
        passed_s = time.ticks_diff(time.ticks_ms(), self._since_ms) / 1000
        value = self._start + self._drift_per_s * passed_s
        return max(self._lowest, min(self._highest, value))
