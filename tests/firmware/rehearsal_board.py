# Run by a MicroPython of 32 bits: the firmware's rules over a history, every pass of its loop.
#
# Reads cases as JSON lines and prints the acts of each: rule, begin and end in milliseconds. Orders
# are given as the Pi does, which then renews the leases of what it holds in every pass.

import json
import sys
import time

_PASS_MS = 10
_PUT = 2
_ANY_SLOT = 255


class _Clock:
    pass


# The counter goes around as on the board; who asks for it by himself is at the beginning
_clock = _Clock()
_clock.ticks_add = time.ticks_add
_clock.ticks_diff = time.ticks_diff
_clock.ticks_ms = lambda: 0
sys.modules["time"] = _clock

import frame  # noqa: E402  - after the clock
from node import outputs, reflexes  # noqa: E402
from node.calls import AT, Refusal  # noqa: E402


class Pin:
    OUT = 1

    def __init__(self, world, index):
        self.world = world
        self.index = index
        self.level = 0

    def init(self, _mode, value):
        self.level = value

    def value(self, level=None):
        if level is not None and level != self.level:
            self.level = level
            if not level:
                self.world.note_off(self.index)
        return self.level


class Slot:
    analog = input = 1

    def __init__(self, index, output, highest):
        self.row = {"name": "pin " + str(index), "pin": index, "kind": ""}
        self.output = output
        self.highest = highest
        self.device = None if highest == 1 else self


class World:
    hash = b""
    has_flash = is_damaged = False

    def __init__(self, case):
        self.values = {}
        self.now_ms = 0
        self.acts = []
        self.held = []
        self.is_putting = True
        self.slots = {}
        for one in case["outputs"]:
            needs = tuple([(self.reader(at), value, at) for at, value in one["needs"]])
            made = outputs.Output(Pin(self, one["index"]), one["limits"], 0, one["safe"], needs)
            self.slots[one["index"]] = Slot(one["index"], made, one["highest"])
        last = max(self.slots)
        table = [self.slots[at].output if at in self.slots else None for at in range(last + 1)]
        self.outputs = outputs.Outputs(tuple(table))

    def find(self, index):
        return self.slots.get(index)

    def reader(self, index):
        return lambda: self.sample(index, 0)

    def sample(self, index, part):
        if self.is_putting:
            return 0
        if index in self.slots:
            return self.slots[index].output.read()
        return self.values.get((index, part))

    def note_off(self, index):
        for at, act in self.held:
            if at == index:
                act[2] = self.now_ms
        self.held = [one for one in self.held if one[0] != index]

    def noting(self, number, rule):
        note = rule.note_fired

        def noted():
            note()
            act = [number, self.now_ms, self.now_ms]
            self.acts.append(act)
            if rule.value != self.slots[rule.output].output.safe:
                self.held.append((rule.output, act))

        return noted

    def load(self):
        return b""

    def save(self, text):
        pass


class Pi:
    def __init__(self, world, orders):
        self.world = world
        self.orders = orders
        self.place = 0
        self.leased = 0
        self.ends = {}
        self.told = []

    def tick(self, now_ms):
        outputs = self.world.outputs
        if self.leased:
            self.leased &= outputs.renew(self.leased, now_ms)
        for index in list(self.ends):
            if now_ms >= self.ends[index]:
                del self.ends[index]
                if self.leased & (1 << index):
                    self.leased &= ~(1 << index)
                    outputs.write(index, self.world.slots[index].output.safe, now_ms)
        while self.place < len(self.orders) and self.orders[self.place]["at_ms"] <= now_ms:
            self.give(self.place, self.orders[self.place], now_ms)
            self.place += 1

    def give(self, number, order, now_ms):
        index = order["index"]
        output = self.world.slots[index].output
        try:
            self.world.outputs.write(index, order["value"], now_ms)
        except Refusal as refusal:
            need = output.unmet()
            pin = -1 if need is None else need[2]
            self.told.append([number, now_ms, now_ms, refusal.code, pin])
            return
        act = [number, now_ms, now_ms, 0, -1]
        self.told.append(act)
        self.ends.pop(index, None)
        self.leased &= ~(1 << index)
        if order["value"] == output.safe:
            return
        self.leased |= 1 << index
        self.world.held.append((index, act))
        if order["for_ms"]:
            self.ends[index] = now_ms + order["for_ms"]


def acts_of(case):
    world = World(case)
    table = reflexes.Reflexes(world, world, [world], world, world)
    answer = bytearray(frame.PAYLOAD_LIMIT_BYTES)
    rules = []
    for raw in case["rules"]:
        table.handlers()[frame.METHOD_REFLEX](bytes([_PUT, _ANY_SLOT]) + bytes.fromhex(raw), answer)
        rules.append(table._rules[answer[AT]])
    world.is_putting = False
    changes = []
    for one in case["histories"]:
        for at, value in zip(one["times"], one["values"]):  # noqa: B905  - MicroPython has none strict
            changes.append((at, (one["index"], one["part"]), value))
    changes.sort(key=lambda one: one[0])
    for number in range(len(rules)):
        rules[number].note_fired = world.noting(number, rules[number])
    place = 0
    pi = Pi(world, case.get("orders", []))
    for now_ms in range(_PASS_MS, case["length_ms"], _PASS_MS):
        world.now_ms = now_ms
        while place < len(changes) and changes[place][0] <= now_ms:
            world.values[changes[place][1]] = changes[place][2]
            place += 1
        pi.tick(now_ms)
        world.outputs.tick(now_ms)
        table.tick(now_ms)
    for _, act in world.held:
        act[2] = case["length_ms"]
    told = [[rule.fired, rule.refused, rule.code, rule.state] for rule in rules]
    return {"acts": world.acts, "orders": pi.told, "rules": told, "largest": sys.maxsize}


for line in sys.stdin:
    sys.stdout.write(json.dumps(acts_of(json.loads(line))) + "\n")
