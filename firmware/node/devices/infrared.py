# An infrared receiver (TSOP, VS1838) that hears remote controls which speak NEC.
#
# Its line falls with every burst, and the time between two falls says what was sent: 13.5 ms the
# beginning, 11.25 ms that the button is still held, 1.125 ms a zero, 2.25 ms a one. A hard
# interrupt takes them together in two small integers.

import struct
from time import ticks_add, ticks_diff, ticks_ms, ticks_us

import machine
from micropython import const
from node.calls import AT

INFRARED_READ = 53

# With 8 % less or 10 % more: clocks differ, and receivers stretch and cut
_BEGIN_LEAST_US, _BEGIN_MOST_US = const(12_400), const(15_500)
_HELD_LEAST_US = const(10_000)
_ZERO_LEAST_US, _ZERO_MOST_US = const(800), const(1_500)
_ONE_MOST_US = const(2_800)
_HALF = const(16)
_BITS = const(32)
# One that is held says so every 108 ms
_HELD_MS = const(200)
_AGE_MOST_MS = const(3_600_000)
_COUNT_MOST = const(0x3FFFFFFF)


class Infrared:
    def __init__(self, entry):
        # Of the code that arrives: its bits so far, the first one lowest; -1 while there is none
        self._arrived = -1
        self._low = 0
        self._high = 0
        self._fell_us = ticks_us()
        # Whether one is complete, and how often its button has said that it is held
        self._is_complete = False
        self._held = 0
        self._count = 0
        self._damaged = 0
        self._address = 0
        self._command = 0
        self._repeats = 0
        self._heard_ms = ticks_ms()
        # Pulled up: a wire that is not there is silence
        self._pin = machine.Pin(entry["pin"], machine.Pin.IN, machine.Pin.PULL_UP)
        self._pin.irq(self._edge, machine.Pin.IRQ_FALLING, hard=True)

    def value(self, part=0):
        # In the order of the method's result; only the count before the first code
        if part > 4 or (part > 1 and not self._count):
            return None
        parts = (self._count, self._damaged, self._address, self._command, self._repeats)
        return parts[part]

    def handlers(self):
        return {INFRARED_READ: self._read}

    def close(self):
        self._pin.irq(None)

    def tick(self, now_ms):
        if self._is_complete:
            low, high = self._low, self._high
            self._is_complete = False
            self._take(low, high, now_ms)
        elif self._held:
            held, self._held = self._held, 0
            if self._count and ticks_diff(now_ms, self._heard_ms) < _HELD_MS:
                self._repeats = min(0xFFFF, self._repeats + held)
                self._heard_ms = now_ms
        if ticks_diff(now_ms, self._heard_ms) > _AGE_MOST_MS:
            # As old as is told, and no older: the clock's differences go around after days
            self._heard_ms = ticks_add(now_ms, -_AGE_MOST_MS)

    def _edge(self, _pin):
        # In a hard interrupt: nothing here may allocate
        now_us = ticks_us()
        gap_us = ticks_diff(now_us, self._fell_us)
        self._fell_us = now_us
        if gap_us >= _HELD_LEAST_US:
            self._arrived = -1
            if gap_us < _BEGIN_LEAST_US:
                self._held += 1
            elif gap_us <= _BEGIN_MOST_US and not self._is_complete:
                self._arrived = self._low = self._high = 0
            return
        if self._arrived < 0:
            return
        if not _ZERO_LEAST_US <= gap_us <= _ONE_MOST_US:
            self._arrived = -1
            return
        if gap_us > _ZERO_MOST_US:
            if self._arrived < _HALF:
                self._low |= 1 << self._arrived
            else:
                self._high |= 1 << self._arrived - _HALF
        self._arrived += 1
        if self._arrived == _BITS:
            self._arrived = -1
            self._is_complete = True

    def _take(self, low, high, now_ms):
        if high & 0xFF ^ high >> 8 != 0xFF:
            # A command comes with its opposite
            self._damaged = min(_COUNT_MOST, self._damaged + 1)
            return
        # Later remote controls use the opposite of the address for more addresses
        self._address = low & 0xFF if low & 0xFF ^ low >> 8 == 0xFF else low
        self._command = high & 0xFF
        self._repeats = 0
        self._count = (self._count + 1) & _COUNT_MOST
        self._heard_ms = now_ms

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<II", answer, AT, self._count, self._damaged)
        if not self._count:
            return 8
        struct.pack_into(
            "<HBHI",
            answer,
            AT + 8,
            self._address,
            self._command,
            self._repeats,
            min(_AGE_MOST_MS, ticks_diff(ticks_ms(), self._heard_ms)),
        )
        return 17
