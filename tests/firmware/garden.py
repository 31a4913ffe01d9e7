"""The board's reflexes under CPython, with real outputs and a world that a test sets.

Pins by index: soil (analog), tank (an input), pump and lamp (outputs), fan (a device with a range).
"""

import itertools
import struct
import sys
from typing import Any

from agent.link import frame as wire
from agent.readings.rule_program import TICKS_PERIOD, ticks_add
from tests.fakes.pin import RecordedPin
from tests.firmware.node_on_cpython import node_module

with node_module("reflexes") as loaded:
    REFLEXES = loaded
    OUTPUTS = sys.modules["node.outputs"]
    REFUSAL = sys.modules["node.calls"].Refusal

SOIL, TANK, PUMP, LAMP, FAN = range(5)
BELOW, ABOVE, EQUAL, UNEQUAL = range(4)
EMPTY, ACTIVE, PAUSED, GONE, FORBIDDEN = range(5)
STORED, IN_RAM, DAMAGED, WAITING, FAILED = range(5)
LIST, GET, PUT, DELETE, PAUSE = range(5)
# The loop's pass when nothing arrives
PASS_MS = 10
_AT = 3

Condition = tuple[int, int, int, int]
DRY: Condition = (SOIL, BELOW, 300, 0)
FULL: Condition = (TANK, EQUAL, 1, 0)


def rule(*when: Condition, **changed: int) -> bytes:
    """A rule on the wire: the pump for 1 s at most every 5 s, unless something is changed."""
    fields = {"enabled": 1, "output": PUMP, "value": 1, "for_ms": 1000, "every_s": 5, "held_ms": 0}
    fields |= changed
    first, second = [*(when or (DRY,)), (0, 0, 0, 0)][:2]
    return struct.pack(
        wire.RULE_FORMAT,
        fields["enabled"],
        fields.get("conditions", len(when) or 1),
        *(fields[name] for name in ("output", "value", "for_ms", "every_s", "held_ms")),
        *first,
        *second,
        fields.get("name_bytes", 4),
        b"test",
    )


class Place:
    """A pin as the firmware's table has it."""

    def __init__(self, name: str, pin: str, **what: Any) -> None:
        self.row = {"name": name, "pin": pin, "kind": what.get("kind", "")}
        self.input = what.get("input")
        self.analog = what.get("analog")
        self.output = what.get("output")
        self.device = what.get("device")


class DeviceFan:
    """An output with a range of its own."""

    highest = 1000


class Pins:
    """The table of pins; `places` may be exchanged as a configuration does."""

    def __init__(self, **limits: Any) -> None:
        self.pins = {index: RecordedPin() for index in (PUMP, LAMP, FAN)}
        made = {
            index: OUTPUTS.Output(pin, {"name": "pump", **limits}, 0)
            for index, pin in self.pins.items()
        }
        self.places: list[Place | None] = [
            Place("soil", "PA1", analog=1),
            Place("tank", "PA2", input=1),
            Place("pump", "PB0", output=made[PUMP], input=1),
            Place("lamp", "PB1", output=made[LAMP], input=1),
            Place("fan", "PB2", output=made[FAN], device=DeviceFan(), kind="pwm"),
        ]
        self.outputs = OUTPUTS.Outputs((None, None, *made.values()))

    def find(self, index: int) -> Place | None:
        return self.places[index] if index < len(self.places) else None


class Store:
    """What flash keeps; it may fail and may have been damaged."""

    def __init__(self) -> None:
        self.text = b""
        self.has_flash = True
        self.is_damaged = False
        self.fails = False
        self.saved = 0

    def load(self) -> bytes:
        return self.text

    def save(self, text: bytearray) -> None:
        self.saved += 1
        if self.fails:
            raise OSError(28)
        self.text = bytes(text)


class Garden:
    """A board with reflexes, its world and its clock.

    Args:
        store: what an earlier board has left.
        limits: options of every output.
    """

    def __init__(self, store: Store | None = None, **limits: Any) -> None:
        self.values: dict[int, int | None] = {SOIL: 500, TANK: 1}
        self.is_broken = False
        self.pins = Pins(**limits)
        self.outputs = self.pins.outputs
        self.store = store or Store()
        self.hash = b"none"
        self.busy_ms: list[int] = []
        self.now_ms = 0
        self.passed_ms = 0
        self.reflexes = REFLEXES.Reflexes(self.pins, self, [object(), self], self.store, self)

    def sample(self, index: int, part: int) -> int | None:
        if self.is_broken:
            raise OSError(5)
        return None if part else self.values.get(index)

    def announce_busy(self, for_ms: int) -> None:
        self.busy_ms.append(for_ms)

    def call(self, action: int, *arguments: int, raw: bytes = b"") -> bytes:
        answer = bytearray(wire.PAYLOAD_LIMIT_BYTES)
        payload = bytes([action, *arguments]) + raw
        size = self.reflexes.handlers()[wire.METHOD_REFLEX](payload, answer)
        return bytes(answer[_AT : _AT + size])

    def put(self, raw: bytes, slot: int = 255) -> int:
        return self.call(PUT, slot, raw=raw)[0]

    def code_of(self, action: int, *arguments: int, raw: bytes = b"") -> int:
        try:
            self.call(action, *arguments, raw=raw)
        except REFUSAL as refusal:
            return int(refusal.code)
        return wire.OK

    def condition(self) -> int:
        return self.call(LIST)[0]

    def states(self) -> list[tuple[int, ...]]:
        """State, fired, refused, code and wait of every slot."""
        answer = self.call(LIST)
        assert answer[1] == wire.REFLEXES_MOST
        return list(struct.iter_unpack(wire.REFLEX_STATE_FORMAT, answer[2:]))

    def run(self, seconds: float) -> None:
        """Let the loop go around, as it does when the link is quiet."""
        until_ms = self.passed_ms + round(seconds * 1000)
        while self.passed_ms < until_ms:
            self.step(PASS_MS)

    def step(self, by_ms: int) -> None:
        self.passed_ms += by_ms
        self.now_ms = ticks_add(self.now_ms, by_ms) % TICKS_PERIOD
        self.outputs.tick(self.now_ms)
        self.reflexes.tick(self.now_ms)

    def is_on(self, index: int = PUMP) -> bool:
        levels = self.pins.pins[index].levels
        return levels[-1] != 0

    def switched_on(self, index: int = PUMP) -> int:
        """How often the output has left its safe value."""
        levels = self.pins.pins[index].levels
        return sum(before == 0 != after for before, after in itertools.pairwise(levels))
