# A rotary encoder: two contacts that open and close one after the other, and the order tells the
# direction. The position counts every edge; an encoder with a detent usually has four of them.

import struct

import machine
from node.calls import AT

ENCODER_READ = 24

# What a step from one state of both contacts (bits 2 and 3) to another (bits 0 and 1) means;
# impossible steps, both contacts at once, count nothing. One less than what stands here is added.
_STEPS = b"\x01\x00\x02\x01\x02\x01\x01\x00\x00\x01\x01\x02\x01\x02\x00\x01"
_PULLS = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "": machine.Pin.PULL_NONE}
_POSITION_MASK = 0x1FFFFFFF
_POSITION_HALF = 0x10000000


class Encoder:
    def __init__(self, entry):
        pull = _PULLS[entry.get("pull", "up")]
        edges = machine.Pin.IRQ_RISING | machine.Pin.IRQ_FALLING
        self._a = machine.Pin(entry["pin"], machine.Pin.IN, pull)
        self._b = machine.Pin(entry["pin_b"], machine.Pin.IN, pull)
        self._state = self._a.value() << 1 | self._b.value()
        self._position = 0
        self._a.irq(self._edge, edges, hard=True)
        try:
            self._b.irq(self._edge, edges, hard=True)
        except OSError:
            # Another pin of that number has it; nobody would give the first one back
            self._a.irq(None)
            raise

    def value(self, part=0):
        # Positions are counted from 0 around; half of them are negative
        if part:
            return None
        return ((self._position + _POSITION_HALF) & _POSITION_MASK) - _POSITION_HALF

    def handlers(self):
        return {ENCODER_READ: self._read}

    def close(self):
        self._a.irq(None)
        self._b.irq(None)

    def _edge(self, _pin):
        # A hard interrupt: nothing here may allocate
        state = self._a.value() << 1 | self._b.value()
        self._position = (self._position + _STEPS[self._state << 2 | state] - 1) & _POSITION_MASK
        self._state = state

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<i", answer, AT, self.value(0))
        return 4
