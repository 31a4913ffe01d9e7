# What interrupts have seen, until the main loop looks: pin, level and time of each edge.
#
# All memory is taken once, because a hard interrupt must not take any. One writer, the interrupts,
# moves `_head`; one reader, the loop, moves `_tail`.

from array import array
from time import ticks_ms

from micropython import const

# A power of two. Two edges in every millisecond between two passes, and as many again.
_SIZE = const(32)
_MASK = const(31)
# `_head` and `_tail` go twice round, so that a full ring is no empty one, and stay small integers
_TWICE_MASK = const(63)
_LEVEL = const(0x80)
# One bit each in the masks of the link
_PINS_MOST = const(32)


class Ring:
    def __init__(self):
        # What the last `take` found
        self.index = 0
        self.level = 0
        self.at_ms = 0
        # By pin: edges for which there was no room
        self.lost = array("H", [0] * _PINS_MOST)
        self._codes = bytearray(_SIZE)
        self._times = array("l", [0] * _SIZE)
        self._head = 0
        self._tail = 0

    def put(self, index, level):
        # From an interrupt
        head = self._head
        if (head - self._tail) & _TWICE_MASK == _SIZE:
            self.lost[index] += 1
            return
        self._codes[head & _MASK] = index | _LEVEL if level else index
        self._times[head & _MASK] = ticks_ms()
        self._head = (head + 1) & _TWICE_MASK

    def clear(self):
        self._tail = self._head
        for index in range(_PINS_MOST):
            self.lost[index] = 0

    def take(self):
        # Whether there was an edge; it is in `index`, `level` and `at_ms` then
        tail = self._tail
        if tail == self._head:
            return False
        code = self._codes[tail & _MASK]
        self.at_ms = self._times[tail & _MASK]
        self._tail = (tail + 1) & _TWICE_MASK
        self.index = code & ~_LEVEL
        self.level = 1 if code & _LEVEL else 0
        return True


class Edges:
    # The interrupt of one pin. The bound method is made here, because making one takes memory.

    def __init__(self, ring, index, pin):
        self._ring = ring
        self._index = index
        self._pin = pin
        self.handler = self._on_edge

    def _on_edge(self, _pin):
        self._ring.put(self._index, self._pin.value())
