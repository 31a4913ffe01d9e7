# What the Pi wants to hear of one pin: when a value is worth an event, and the events that wait.
#
# A change counts at once, and then for the least interval nothing does: so a contact that bounces
# gives one event, without delay. When the interval is over, what the pin shows then counts.

from array import array
from time import ticks_add, ticks_diff

import frame
from micropython import const

QUEUE_LONGEST = 8
_NUMBER_MASK = const(0xFFFF)
# Neither above nor below the threshold was seen yet
_NOWHERE = const(-1)


class Subscription:
    def __init__(self, number, index, part, mode):
        self.number = number
        self.index = index
        # Which value, where reading the pin gives several
        self.part = part
        self.mode = mode
        self.edges = None
        self.credits = 0
        self.low = 0
        self.high = 0
        self.least_ms = 0
        self._last = 0
        self._last_ms = 0
        # Whether the least interval after the last event is not over yet
        self._rests = True
        self._side = _NOWHERE
        # Every event has a number, those that were dropped too
        self._next_number = 1
        self._told_number = 0

    def begin(self, queue, value, now_ms):
        # `queue` 0: only the latest event is kept
        size = max(1, queue)
        self._values = array("l", [0] * size)
        self._times = array("l", [0] * size)
        self._numbers = array("H", [0] * size)
        self._size = size
        self._first = 0
        self.waiting = 0
        self._last = value
        # The first event may come at once
        self._last_ms = ticks_add(now_ms, -self.least_ms)

    def look(self, value, at_ms):
        # Returns whether that was an event
        if self._rests:
            if ticks_diff(at_ms, self._last_ms) < self.least_ms:
                return False
            # Remembered, because the clock's differences go around after days
            self._rests = False
        if self.mode == frame.SUBSCRIBE_CHANGE:
            if abs(value - self._last) < max(1, self.low):
                return False
        elif self.mode == frame.SUBSCRIBE_THRESHOLD and not self._has_crossed(value):
            return False
        self._last = value
        self._last_ms = at_ms
        self._rests = True
        self._add(value, at_ms)
        return True

    def note_lost(self, count):
        # Edges that nobody could look at; with a least interval they would not have counted
        if not self.least_ms:
            self._next_number = (self._next_number + count) & _NUMBER_MASK
            # Each was a change: looking at the pin must not count the last one again
            self._last ^= count & 1

    @property
    def is_ready(self):
        return self.waiting > 0 and self.credits > 0

    # The oldest event that waits

    @property
    def value(self):
        return self._values[self._first]

    @property
    def at_ms(self):
        return self._times[self._first]

    @property
    def event_number(self):
        return self._numbers[self._first]

    @property
    def dropped(self):
        # Since the last one that was told
        return (self._numbers[self._first] - self._told_number - 1) & _NUMBER_MASK

    def pop(self):
        self._told_number = self._numbers[self._first]
        self._first = (self._first + 1) % self._size
        self.waiting -= 1
        self.credits -= 1

    def _has_crossed(self, value):
        # Between the two limits it stays where it was
        if value >= self.high:
            side = 1
        elif value <= self.low:
            side = 0
        else:
            return False
        crossed = side != self._side
        self._side = side
        return crossed

    def _add(self, value, at_ms):
        if self.waiting == self._size:
            # The oldest goes: how things are now matters more
            self._first = (self._first + 1) % self._size
            self.waiting -= 1
        at = (self._first + self.waiting) % self._size
        self._values[at] = value
        self._times[at] = at_ms
        self._numbers[at] = self._next_number
        self._next_number = (self._next_number + 1) & _NUMBER_MASK
        self.waiting += 1
