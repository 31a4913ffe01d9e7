# One rule that the board runs by itself: what it says, whether it holds, and how often it acted.
#
# "When these conditions hold for this long: that output to this value, for this time, and not
# again before the interval is over." All numbers are in the raw units of the pins.

import struct
from array import array
from time import ticks_diff

import frame
from micropython import const

BELOW = 0
ABOVE = 1
EQUAL = 2
UNEQUAL = 3

# Nothing is in this slot
EMPTY = 0
# It is looked at
ACTIVE = 1
# The owner lets it rest
PAUSED = 2
# A pin that it names is not there any more
GONE = 3
# A limit of its output does not allow it any more
FORBIDDEN = 4

# A rule that looks less often than once a week is no reflex
INTERVAL_MOST_S = 604_800
# Beyond an hour a condition is a matter for the agent
HOLD_MOST_MS = 3_600_000
NAME_BYTES = 23

_CONDITIONS_MOST = const(2)
_COUNT_MOST = const(0xFFFF)

# Positions in `numbers`, in the order of the wire format
_CONDITIONS = const(1)
_OUTPUT = const(2)
_VALUE = const(3)
_DURATION_MS = const(4)
_INTERVAL_S = const(5)
_HOLD_MS = const(6)
_FIRST = const(7)
_FIELDS = const(4)
_NUMBERS = const(15)

# How far a condition has come
_NOT = const(0)
_BEGUN = const(1)
_LONG_ENOUGH = const(2)


class Rule:
    # Made when it is put or found in the store, never while rules are looked at.

    def __init__(self):
        self.raw = bytearray(frame.RULE_BYTES)
        # What the pins are that it is about, wherever they stand in the table
        self.marks = array("I", (0, 0, 0))
        self._numbers = array("i", [0] * _NUMBERS)
        self.state = EMPTY
        self.fired = 0
        self.refused = 0
        # Answer code of the last refusal
        self.code = frame.OK
        # In seconds since the start
        self.not_before_s = 0
        self._holds = 0
        self._progress = _NOT
        self._since_ms = 0
        self._is_refused = False

    def fill(self, raw):
        # Raises ValueError with the reason when it is no rule; the slot is as before then
        fields = struct.unpack_from(frame.RULE_FORMAT, raw, 0)
        _check(fields)
        for at in range(_NUMBERS):
            self._numbers[at] = fields[at]
        self.raw[:] = raw[: frame.RULE_BYTES]
        self.state = ACTIVE if fields[0] else PAUSED
        self.fired = self.refused = 0
        self.code = frame.OK
        self.rest()

    def enable(self, is_enabled):
        self.raw[0] = 1 if is_enabled else 0
        self.rest()

    def rest(self):
        # What has been seen so far counts no more
        self._holds = 0
        self._progress = _NOT
        self._is_refused = False

    @property
    def output(self):
        return self._numbers[_OUTPUT]

    @property
    def value(self):
        return self._numbers[_VALUE]

    @property
    def duration_ms(self):
        return self._numbers[_DURATION_MS]

    @property
    def interval_s(self):
        return self._numbers[_INTERVAL_S]

    @property
    def conditions(self):
        return self._numbers[_CONDITIONS]

    def pin(self, which):
        return self._numbers[_FIRST + _FIELDS * which]

    def part(self, which):
        return self._numbers[_FIRST + _FIELDS * which + 1] >> 4

    def pin_at(self, place):
        # Place 0 is the output, 1 and 2 are the conditions
        return self.raw[frame.RULE_PINS_AT[place]]

    def move(self, place, index):
        # The pin has another index now
        at = _OUTPUT if place == 0 else _FIRST + _FIELDS * (place - 1)
        self._numbers[at] = index
        self.raw[frame.RULE_PINS_AT[place]] = index

    def look(self, which, value):
        # Whether the condition holds; one that does is left only beyond its hysteresis
        numbers = self._numbers
        at = _FIRST + _FIELDS * which
        comparison = numbers[at + 1] & 0x0F
        distance = value - numbers[at + 2]
        slack = numbers[at + 3]
        bit = 1 << which
        if comparison == BELOW:
            holds = distance < (slack if self._holds & bit else 0)
        elif comparison == ABOVE:
            holds = distance > (-slack if self._holds & bit else 0)
        else:
            holds = (-slack <= distance <= slack) == (comparison == EQUAL)
        if holds:
            self._holds |= bit
        else:
            self._holds &= ~bit
        return holds

    def is_due(self, all_hold, now_ms):
        # Whether everything has held for as long as it must
        if not all_hold:
            self._progress = _NOT
            self._is_refused = False
            return False
        if self._progress == _NOT:
            self._progress = _BEGUN
            self._since_ms = now_ms
        if self._progress == _BEGUN:
            if ticks_diff(now_ms, self._since_ms) < self._numbers[_HOLD_MS]:
                return False
            # Remembered, because the clock's differences go around after days
            self._progress = _LONG_ENOUGH
        return True

    def pack_state(self, into, at, wait_s):
        fields = (self.state, self.fired, self.refused, self.code, wait_s)
        struct.pack_into(frame.REFLEX_STATE_FORMAT, into, at, *fields)

    def note_fired(self):
        self.fired = min(_COUNT_MOST, self.fired + 1)
        self._is_refused = False

    def note_refused(self, code):
        # Tried again and again while the conditions hold, counted once
        if not self._is_refused:
            self._is_refused = True
            self.refused = min(_COUNT_MOST, self.refused + 1)
        self.code = code


def _check(fields):
    if fields[0] > 1 or not 1 <= fields[_CONDITIONS] <= _CONDITIONS_MOST:
        raise ValueError("a rule has one or two conditions")
    for at in range(_FIRST, _FIRST + _FIELDS * fields[_CONDITIONS], _FIELDS):
        if fields[at + 1] & 0x0F > UNEQUAL:
            raise ValueError("there is no such comparison")
        if fields[at + 3] < 0:
            raise ValueError("a hysteresis is not negative")
    if not 1 <= fields[_INTERVAL_S] <= INTERVAL_MOST_S:
        raise ValueError("an interval is 1 s to 7 days")
    if fields[_INTERVAL_S] * 1000 <= fields[_DURATION_MS]:
        raise ValueError("the interval is longer than the duration")
    if fields[_HOLD_MS] > HOLD_MOST_MS:
        raise ValueError("a condition is held for an hour at most")
    if not 1 <= fields[_NUMBERS] <= NAME_BYTES:
        raise ValueError("a name has 1 to 23 bytes")
