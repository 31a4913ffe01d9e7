# Run by a MicroPython: what a pass with all sixteen reflexes takes, and stuffing bytes beside it.
#
# Prints both as JSON, in microseconds: of one pass, and of one byte.

import json
import sys
import time

import frame
from node import outputs, reflexes

_ROUNDS = 400
_LONG, _SHORT = 240, 16


class Pin:
    OUT = 1

    def init(self, mode, value):
        pass

    def value(self, level=None):
        return 0


class Slot:
    device = None
    analog = input = 1
    row = {"name": "pump", "pin": "PB0"}  # noqa: RUF012  - MicroPython has no ClassVar

    def __init__(self):
        self.output = outputs.Output(Pin(), self.row, 0)


class Pins:
    def __init__(self):
        self.slot = Slot()
        self.outputs = outputs.Outputs((None, None, self.slot.output))

    def find(self, _index):
        return self.slot


class Idle:
    # A feature that has values of other pins, as most are
    def sample(self, _index, _part):
        return None


class World:
    hash = b""
    has_flash = is_damaged = False

    def sample(self, index, _part):
        return 500 if index < 2 else None

    def load(self):
        return b""

    def save(self, text):
        pass


def per_pass(rule):
    world = World()
    table = reflexes.Reflexes(Pins(), world, [Idle(), Idle(), Idle(), world], world, world)
    put = table.handlers()[frame.METHOD_REFLEX]
    answer = bytearray(frame.PAYLOAD_LIMIT_BYTES)
    for _ in range(frame.REFLEXES_MOST):
        put(b"\x02\xff" + rule, answer)
    table.tick(0)
    best = 1_000_000
    for _ in range(5):
        began = time.ticks_us()
        for _ in range(_ROUNDS):
            table.tick(1)
        best = min(best, time.ticks_diff(time.ticks_us(), began))
    return best / _ROUNDS


def stuffing(length):
    raw, wire = bytearray(b"\x07" * length), bytearray(length + 3)
    best = 1_000_000
    for _ in range(5):
        began = time.ticks_us()
        for _ in range(_ROUNDS):
            frame._stuff(raw, length, wire)
        best = min(best, time.ticks_diff(time.ticks_us(), began))
    return best / _ROUNDS


def main(rule):
    per_byte = (stuffing(_LONG) - stuffing(_SHORT)) / (_LONG - _SHORT)
    sys.stdout.write(json.dumps({"pass_us": per_pass(rule), "byte_us": per_byte}))
