# The rules as they are stored, and how they find their pins again.
#
# Layout: version, count, then for each rule its slot, a mark of each pin and the rule as on the
# wire. The store knows what was cut or damaged; what makes no sense is not used either.

import struct

import frame
from micropython import const
from node.reflex_rule import Rule

# The rules are stored
STORED = 0
# The board has nowhere to keep them: they are gone after a reset
IN_RAM = 1
# What was stored was damaged, and is not used
DAMAGED = 2
# The last change is stored as soon as every output is safe
WAITING = 3
# The last change could not be stored: the rules are gone after a reset
FAILED = 4

_VERSION = const(1)
_HEADER = const(2)
_ENTRY_FORMAT = "<BIII"
_ENTRY_BYTES = const(13)
_PLACES = const(3)
# As many as the bit masks of the wire format have room for
_PINS_MOST = const(32)


class Table:
    # `store` keeps one text: load() gives the last one, save(text) replaces it.

    def __init__(self, store):
        self._store = store
        self._condition = self._usual
        # Something has changed that is not stored
        self.is_due = False

    @property
    def condition(self):
        return WAITING if self.is_due else self._condition

    @property
    def is_slow(self):
        return self._store.has_flash

    @property
    def _usual(self):
        return STORED if self._store.has_flash else IN_RAM

    def load(self, rules):
        try:
            data = self._store.load()
            if data:
                self._fill(rules, data)
        except Exception:  # whatever was stored, the board starts
            self._store.is_damaged = True
            for slot in range(len(rules)):
                rules[slot] = None
        if self._store.is_damaged:
            self._condition = DAMAGED

    def save(self, rules):
        # Tried once for each change: flash wears
        self.is_due = False
        try:
            self._store.save(_packed(rules))
            self._condition = self._usual
        except OSError:
            self._condition = FAILED

    def _fill(self, rules, data):
        size = _ENTRY_BYTES + frame.RULE_BYTES
        if data[0] != _VERSION or len(data) != _HEADER + data[1] * size:
            raise ValueError
        for at in range(_HEADER, len(data), size):
            slot, output, first, second = struct.unpack_from(_ENTRY_FORMAT, data, at)
            rule = rules[slot] = Rule()
            rule.fill(data[at + _ENTRY_BYTES : at + size])
            rule.marks[0] = output
            rule.marks[1] = first
            rule.marks[2] = second


def _packed(rules):
    used = [slot for slot in range(len(rules)) if rules[slot] is not None]
    size = _ENTRY_BYTES + frame.RULE_BYTES
    data = bytearray(_HEADER + len(used) * size)
    data[0] = _VERSION
    data[1] = len(used)
    at = _HEADER
    for slot in used:
        rule = rules[slot]
        struct.pack_into(_ENTRY_FORMAT, data, at, slot, *rule.marks)
        data[at + _ENTRY_BYTES : at + size] = rule.raw
        at += size
    return data


def places(rule):
    # The output and the conditions that the rule has
    return range(_PLACES) if rule.conditions > 1 else range(_PLACES - 1)


def note_pins(rule, mark_of):
    for place in places(rule):
        rule.marks[place] = mark_of(rule.pin_at(place))


def find_pins(rule, mark_of):
    # Whether every pin is there; one that stands elsewhere in the table is followed there
    for place in places(rule):
        mark = rule.marks[place]
        if mark_of(rule.pin_at(place)) == mark:
            continue
        for index in range(_PINS_MOST):
            if mark_of(index) == mark:
                rule.move(place, index)
                break
        else:
            return False
    return True
