# A 1-Wire line: which sensors are on it.
#
# The search is Maxim's (application note 187), eight bits in a pass of the loop, which take 2 ms.
# What is found is told as Linux names it: the family, and the serial number that an entry gives.

from time import ticks_diff, ticks_ms

import _onewire
import frame
import machine
from micropython import const
from node.calls import Refusal
from node.devices import data

ONEWIRE_SCAN = 39

_SEARCH = const(0xF0)
_BITS = const(64)
_BITS_IN_A_PASS = const(8)
# So many fit into an answer
_MOST = const(10)
# For so long a scan is worth telling
_FRESH_MS = const(5_000)


class Onewire:
    def __init__(self, entry):
        self._name = entry["pin"]
        self._pin = machine.Pin(self._name, machine.Pin.OPEN_DRAIN, machine.Pin.PULL_UP)
        self._rom = bytearray(_BITS // 8)
        self._is_scanning = False
        self._has_news = False
        self._scanned_ms = ticks_ms()

    def handlers(self):
        return {ONEWIRE_SCAN: self._scan}

    def tick(self, now_ms):
        if not self._is_scanning or not data.hold(self._name, self):
            return
        try:
            is_done = self._step()
        except Refusal as refusal:
            self._trouble = refusal.text
            is_done = True
        if is_done:
            data.let_go(self._name, self)
            self._is_scanning = False
            self._has_news = True
            self._scanned_ms = now_ms

    def close(self):
        data.let_go(self._name, self)

    def _begin(self):
        self._found = []
        self._trouble = ""
        # The last bit at which both ways were open and the one with 0 was taken; -1: there is none
        self._fork = -1
        self._next_fork = -1
        self._at = 0
        self._is_scanning = True

    def _step(self):
        # Returns whether that was all
        if self._at == 0:
            if not _onewire.reset(self._pin):
                return True
            _onewire.writebyte(self._pin, _SEARCH)
            self._next_fork = -1
        for at in range(self._at, self._at + _BITS_IN_A_PASS):
            self._walk(at)
        self._at += _BITS_IN_A_PASS
        if self._at < _BITS:
            return False
        return self._arrive()

    def _walk(self, at):
        # Everybody tells the bit and its opposite; whoever differs from what is chosen falls silent
        bit = _onewire.readbit(self._pin)
        opposite = _onewire.readbit(self._pin)
        if bit and opposite:
            raise Refusal(frame.IO, "a sensor fell silent in the middle of the search")
        if bit == opposite:
            if at < self._fork:
                bit = self._rom[at >> 3] >> (at & 7) & 1
            else:
                bit = 1 if at == self._fork else 0
            if not bit:
                self._next_fork = at
        mask = 1 << (at & 7)
        self._rom[at >> 3] = self._rom[at >> 3] & ~mask | (mask if bit else 0)
        _onewire.writebit(self._pin, bit)

    def _arrive(self):
        if _onewire.crc8(self._rom) or not any(self._rom):
            raise Refusal(frame.IO, "a serial number arrived damaged")
        self._found.append(_told(self._rom))
        self._fork = self._next_fork
        self._at = 0
        return self._fork < 0 or len(self._found) == _MOST

    def _scan(self, _arguments, answer, _outputs):
        # The first question starts it, in small steps; a later one gets the answer, once
        if not self._is_scanning:
            is_fresh = 0 <= ticks_diff(ticks_ms(), self._scanned_ms) < _FRESH_MS
            if self._has_news and is_fresh:
                self._has_news = False
                if self._trouble:
                    raise Refusal(frame.IO, self._trouble)
                text = " ".join(self._found).encode()
                return data.put(answer, text, len(text))
            self._begin()
        raise Refusal(frame.BUSY_CODE, "scanning: ask again in a moment")


def _told(rom):
    serial = "".join(["%02x" % rom[at] for at in range(6, 0, -1)])
    return "%02x-%s" % (rom[0], serial)
