"""Board in virtual time: the firmware's rules and outputs, over a history of readings.

Runs in `rule_program.py`, beside the firmware's own modules, and imports nothing of the agent. The
firmware decides everything; this module only shows the readings of the past to it.
"""

import importlib
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# A rule that acts more often has shown what it does
MOST_ACTS = 5000
_MOST_OF_ALL = 4 * MOST_ACTS
_PUT, _ANY_SLOT = 2, 255
_BELOW, _ABOVE, _EQUAL = 0, 1, 2
_FIRST_CONDITION, _CONDITION_FIELDS = 7, 4


class ReadingHistory:
    """Raw values of one reading: from each time on, None where nothing is known."""

    def __init__(self, times: Sequence[int], values: Sequence[int | None]) -> None:
        self._times = times
        self._values = values

    def at(self, at_ms: int) -> int | None:
        place = bisect_right(self._times, at_ms) - 1
        return self._values[place] if place >= 0 else None

    def thinned(self, edges: Sequence[int]) -> "ReadingHistory":
        """Return the same history without the changes that no comparison can see.

        Args:
            edges: twice the values between which a comparison changes its answer.
        """
        times: list[int] = []
        values: list[int | None] = []
        seen: int | None = -1
        for at_ms, value in zip(self._times, self._values, strict=True):
            now = None if value is None else bisect_right(edges, 2 * value)
            if now != seen:
                seen = now
                times.append(at_ms)
                values.append(value)
        return ReadingHistory(times, values)

    @property
    def times(self) -> Sequence[int]:
        return self._times


class _Pin:
    """Pin of an output, which tells of its changes."""

    OUT = 1

    def __init__(self, index: int, board: "VirtualBoard") -> None:
        self._index, self._board, self._level = index, board, 0

    def init(self, mode: int, value: int) -> None:
        del mode
        self._level = value

    def value(self, level: int | None = None) -> int:
        if level is not None and level != self._level:
            self._level = level
            self._board.moved(self._index)
        return self._level


class _Slot:
    """Place in the table of pins, as the rules see it."""

    def __init__(self, index: int, output: Any, highest: int) -> None:
        self.row = {"name": f"pin {index}", "pin": index, "kind": ""}
        self.output = output
        self.analog = self.input = 1
        self.device = None if highest == 1 else self
        self.highest = highest


class VirtualBoard:
    """Board with rules, outputs and a past.

    Args:
        given: `rules` as on the wire in hex, `outputs` with their limits, `histories` by index and
            part, `length_ms`; `orders` of the Pi where there are any.
    """

    # What the firmware asks of a configuration and a store
    hash = b""
    has_flash = is_damaged = False

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._frame = importlib.import_module("frame")
        self.length_ms: int = given["length_ms"]
        self.at_ms = 0
        self.acts: list[list[int]] = []
        self._begun: dict[int, list[list[int]]] = {}
        rules = [bytes.fromhex(one) for one in given["rules"]]
        ordered: Sequence[Mapping[str, Any]] = given.get("orders", ())
        self._driven = {struct.unpack_from(self._frame.RULE_FORMAT, one)[2] for one in rules}
        self._driven |= {one["index"] for one in ordered}
        outputs = importlib.import_module("node.outputs")
        self._slots: dict[int, _Slot] = {}
        for one in given["outputs"]:
            self._slots[one["index"]] = self._slot(one, outputs.Output)
        last = max(self._slots, default=-1)
        table = [self._slots[at].output if at in self._slots else None for at in range(last + 1)]
        self.outputs = outputs.Outputs(tuple(table))
        self._histories = _thinned(given, [*self._edges(rules), *_needed(given)])
        self._changes = sorted({at for one in self._histories.values() for at in one.times})
        # What the readings are now, and until when
        self._values: dict[tuple[int, int], int | None] = {}
        self._change_ms = 0
        self._is_putting = True
        made = importlib.import_module("node.reflexes").Reflexes(self, self, [self], self, self)
        self._reflexes = made
        self.rules = [made._rules[self._put(raw)] for raw in rules]  # noqa: SLF001 - the firmware's own table
        for number, rule in enumerate(self.rules):
            rule.note_fired = self._told_of(number, rule)
        self._is_putting = False
        self.orders = importlib.import_module("virtual_orders").VirtualOrders(self, ordered)

    # What the firmware asks

    def find(self, index: int) -> _Slot | None:
        return self._slots.get(index)

    def sample(self, index: int, part: int) -> int | None:
        if self._is_putting:
            return 0
        key = index, part
        if index in self._slots and (index in self._driven or key not in self._histories):
            return int(self._slots[index].output.read())
        return self._values.get(key)

    def load(self) -> bytes:
        return b""

    def save(self, _text: object) -> None:
        """Keep nothing: there is no reset in virtual time."""

    def moved(self, index: int) -> None:
        """Note an output that is at its safe value again."""
        slot = self._slots.get(index)
        if slot is not None and slot.output.read() == slot.output.safe:
            for act in self._begun.pop(index, []):
                act[2] = self.at_ms

    def begin(self, index: int, act: list[int]) -> None:
        """Note what lasts until the output is at its safe value again."""
        self._begun.setdefault(index, []).append(act)

    # Passes of the loop

    def step(self, at_ms: int) -> None:
        """Do one pass, in the order of the firmware."""
        self.at_ms = at_ms
        if at_ms >= self._change_ms:
            self._values = {key: one.at(at_ms) for key, one in self._histories.items()}
            self._change_ms = self.next_change_ms(at_ms) or self.length_ms
        now_ms = at_ms % (1 << 30)
        self.orders.tick(at_ms, now_ms)
        self.outputs.tick(now_ms)
        self._reflexes.tick(now_ms)

    def _told_of(self, number: int, rule: Any) -> Any:
        """Return what notes that the rule has acted."""
        note = rule.note_fired

        def noted() -> None:
            note()
            act = [number, self.at_ms, self.at_ms]
            self.acts.append(act)
            if self.outputs.held & (1 << rule.output):
                self.begin(rule.output, act)

        return noted

    def finish(self) -> None:
        for acts in self._begun.values():
            for act in acts:
                act[2] = self.at_ms

    @property
    def is_enough(self) -> bool:
        """Return true if the first rule, or all together, have acted too often to go on."""
        if len(self.acts) < MOST_ACTS or not self.rules:
            return False
        return bool(self.rules[0].fired >= MOST_ACTS or len(self.acts) >= _MOST_OF_ALL)

    @property
    def active(self) -> list[Any]:
        return [rule for rule in self.rules if rule.state == 1]

    def next_change_ms(self, after_ms: int) -> int | None:
        place = bisect_right(self._changes, after_ms)
        return self._changes[place] if place < len(self._changes) else None

    def changes_until(self, at_ms: int) -> int:
        return bisect_right(self._changes, at_ms)

    def _slot(self, one: Mapping[str, Any], make: Any) -> _Slot:
        needs = tuple((_reader(self, index), value, index) for index, value in one["needs"])
        made = make(_Pin(one["index"], self), one["limits"], 0, one["safe"], needs)
        return _Slot(one["index"], made, one["highest"])

    def _put(self, raw: bytes) -> int:
        answer = bytearray(self._frame.PAYLOAD_LIMIT_BYTES)
        obey = self._reflexes.handlers()[self._frame.METHOD_REFLEX]
        obey(bytes([_PUT, _ANY_SLOT]) + raw, answer)
        return int(answer[importlib.import_module("node.calls").AT])

    def _edges(self, rules: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], int]]:
        for raw in rules:
            fields = struct.unpack_from(self._frame.RULE_FORMAT, raw)
            for which in range(fields[1]):
                at = _FIRST_CONDITION + _CONDITION_FIELDS * which
                index, code, value, slack = fields[at : at + _CONDITION_FIELDS]
                for edge in _edges_of(code & 0x0F, 2 * value, 2 * slack):
                    yield (index, code >> 4), edge


def run(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the acts of the rules, each with its rule, begin and end, and those of the orders."""
    board = VirtualBoard(given)
    importlib.import_module("virtual_leaps").Leaps(board).run()
    board.finish()
    told = [[rule.fired, rule.refused, rule.code, rule.state] for rule in board.rules]
    acts = {"acts": board.acts, "orders": board.orders.told}
    return acts | {"rules": told, "until_ms": board.at_ms, "is_cut": board.is_enough}


def _thinned(
    given: Mapping[str, Any], edges: Sequence[tuple[tuple[int, int], int]]
) -> dict[tuple[int, int], ReadingHistory]:
    found = {}
    for one in given["histories"]:
        key = (one["index"], one["part"])
        mine = sorted({edge for place, edge in edges if place == key})
        if mine:
            found[key] = ReadingHistory(one["times"], one["values"]).thinned(mine)
    return found


def _needed(given: Mapping[str, Any]) -> Iterator[tuple[tuple[int, int], int]]:
    for one in given["outputs"]:
        for index, value in one["needs"]:
            for edge in _edges_of(_EQUAL, 2 * value, 0):
                yield (index, 0), edge


def _edges_of(comparison: int, value: int, slack: int) -> tuple[int, ...]:
    """Return where a comparison may change its answer, in halves of a step, beside the values."""
    if comparison == _BELOW:
        return value - 1, value + slack - 1
    if comparison == _ABOVE:
        return value - slack + 1, value + 1
    return value - slack - 1, value + slack + 1


def _reader(board: VirtualBoard, index: int) -> Any:
    return lambda: board.sample(index, 0)
