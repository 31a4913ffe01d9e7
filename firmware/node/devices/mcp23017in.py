# An input of an MCP23017, see mcp23017.py: read over I2C when somebody asks, at most every 10 ms.

from time import ticks_diff, ticks_ms

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.guarded import chip_of, require_alone
from node.devices.mcp23017 import Mcp23017Chip

EXPANDER_READ = 51

# Events and interlocks ask in every pass of the loop
_FRESH_MS = const(10)
# The data sheet of 2022 takes them out of the inputs
_OUTPUTS_ONLY = (7, 15)


class Mcp23017in:
    def __init__(self, entry):
        self._entry = entry
        self._channel = entry["channel"]
        if self._channel in _OUTPUTS_ONLY:
            raise ValueError("channels 7 and 15 of an MCP23017 are outputs only")
        self._chip = chip_of(entry, Mcp23017Chip, "reset")
        bit = 1 << self._channel
        part = self._chip.part
        part.inverted &= ~bit
        if entry.get("active_low", False):
            part.inverted |= bit
        part.pulled_up &= ~bit
        if entry["pull_up"]:
            part.pulled_up |= bit
        self._value = 0
        self._is_known = False
        self._read_ms = ticks_ms()
        self.tick = self._chip.tick

    def value(self, part=0):
        if part:
            return None
        if self._chip.is_cut:
            self._chip.require()
            raise Refusal(frame.BUSY_CODE, "being set up again: ask in a moment")
        now_ms = ticks_ms()
        if not self._is_known or not 0 <= ticks_diff(now_ms, self._read_ms) < _FRESH_MS:
            self._is_known = False
            self._value = self._chip.get(self._channel)
            self._is_known = True
            self._read_ms = now_ms
        return self._value

    def close(self):
        self._chip.let_go(self._channel)

    def connect(self, named):
        # Called with every configuration, when all entries are made
        require_alone(self._entry, named)

    def handlers(self):
        return {EXPANDER_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        answer[AT] = self.value(0)
        return 1
