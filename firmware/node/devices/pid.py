# A thermostat that heats by shares of the time: proportional, integral and derivative.
#
# Everything but the law is node/devices/thermostat.py: the relay, its rest, who holds it, and that
# it is off without a target or a temperature. The law makes a share once a second, and the relay is
# on for that share of each window. Shares are in tenths of a percent, temperatures in hundredths of
# a degree.

from time import ticks_diff, ticks_ms

from micropython import const
from node.devices.thermostat import Thermostat

THERMOSTAT_WRITE = 40
THERMOSTAT_READ = 41

_FULL = const(1_000)
_STEP_MS = const(1_000)
# Not asked for so long it was off, or its thermometer was silent: it begins anew
_GAP_MS = const(3_000)
# How much of a change counts at once: a step of the thermometer is no trend
_SMOOTH = const(8)


class Pid:
    OUT = Thermostat.OUT
    safe = Thermostat.safe

    def __init__(self, entry):
        self._gain = entry["gain_percent"]
        self._integral_ms = entry["integral_s"] * 1000
        self._derivative_s = entry["derivative_s"]
        self._window_ms = entry["window_s"] * 1000
        self._shortest_ms = entry["shortest_s"] * 1000
        if self._shortest_ms * 2 > self._window_ms:
            raise ValueError("shortest_s is half of window_s at most")
        # When it was last asked, and when the last share was made
        self._asked_ms = self._made_ms = self._began_ms = ticks_ms()
        self._begin(self._asked_ms, 0)
        self._thermostat = Thermostat(entry, self)
        self.highest = self._thermostat.highest
        self.connect = self._thermostat.connect
        self.init = self._thermostat.init
        self.value = self._thermostat.value
        self.tick = self._thermostat.tick
        self.close = self._thermostat.close

    def handlers(self):
        told = self._thermostat.handlers()
        return {
            THERMOSTAT_WRITE: told[THERMOSTAT_WRITE],
            THERMOSTAT_READ: told[THERMOSTAT_READ],
        }

    def must_be_on(self, missing):
        now_ms = ticks_ms()
        if not 0 <= ticks_diff(now_ms, self._asked_ms) <= _GAP_MS:
            self._begin(now_ms, missing)
        self._asked_ms = now_ms
        passed_ms = ticks_diff(now_ms, self._made_ms)
        if passed_ms >= _STEP_MS:
            self._made_ms = now_ms
            self._make_share(missing, passed_ms)
        in_window_ms = ticks_diff(now_ms, self._began_ms)
        if in_window_ms >= self._window_ms:
            self._began_ms = now_ms
            in_window_ms = 0
        self._switch(self._on_ms() - in_window_ms, now_ms)
        return self._is_on

    def _begin(self, now_ms, missing):
        self._made_ms = self._began_ms = self._switched_ms = now_ms
        self._is_on = False
        self._may_switch = True
        # Of the share, in thousands of its unit
        self._integral = 0
        self._last = missing
        # Of the change in a second, in hundreds of its unit
        self._change = 0
        self._share = self._clamped(self._gain * missing // 10)

    def _make_share(self, missing, passed_ms):
        change = (missing - self._last) * 100_000 // passed_ms
        self._last = missing
        self._change += (change - self._change) // _SMOOTH
        proportional = self._gain * missing // 10
        derivative = self._gain * self._change * self._derivative_s // 1_000
        wanted = proportional + self._integral // 1_000 + derivative
        # What cannot be done is not saved up for later
        is_full = wanted >= _FULL and missing > 0
        is_empty = wanted <= 0 and missing < 0
        if self._integral_ms and not is_full and not is_empty:
            self._integral += proportional * passed_ms * 1_000 // self._integral_ms
            self._integral = max(-_FULL * 1_000, min(_FULL * 1_000, self._integral))
        self._share = self._clamped(proportional + self._integral // 1_000 + derivative)

    def _switch(self, left_ms, now_ms):
        # The share changes within a window: not for less, and not on for what little is left of it
        if ticks_diff(now_ms, self._switched_ms) >= self._shortest_ms:
            # Remembered, because the clock's differences go around after days
            self._may_switch = True
        wanted = left_ms >= (1 if self._is_on else max(1, self._shortest_ms))
        if self._may_switch and wanted != self._is_on:
            self._is_on = wanted
            self._may_switch = False
            self._switched_ms = now_ms

    def _on_ms(self):
        # A relay does not switch for less
        on_ms = self._share * self._window_ms // _FULL
        if on_ms < self._shortest_ms:
            return 0
        if self._window_ms - on_ms < self._shortest_ms:
            return self._window_ms
        return on_ms

    @staticmethod
    def _clamped(share):
        return max(0, min(_FULL, share))
