"""Search for what must not be: two rules of a board that hold at once and contradict a limit.

Runs in `rule_program.py`, beside the firmware's own modules, and imports nothing of the agent. A
rule only compares a reading with a threshold, so a few values around each threshold stand for all.
What holds because of its hysteresis is found by following the reading from value to value. Readings
do not depend on one another: what each of them allows by itself is allowed together.
"""

import importlib
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_Key = tuple[int, int]
# Number of the rule, and which of its conditions
_Part = tuple[int, int]
# Of each reading: index, part, value, and the values before
_Found = list[list[Any]]
_OUTPUT, _VALUE, _FIRST, _FIELDS = 2, 3, 7, 4
# More than this are no rules that a person has made
MOST_STATES = 20_000


@dataclass(frozen=True, slots=True)
class ReadingState:
    """Value of a reading with the conditions that hold there.

    Args:
        path: values that the reading must have had before, where hysteresis needs them.
    """

    value: int
    holding: frozenset[_Part]
    path: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions that must hold and that must not, and values that a reading must not have."""

    hold: frozenset[_Part]
    fail: frozenset[_Part] = frozenset()
    not_at: tuple[_Key, int] | None = None


class RuleSet:
    """Rules of a board, as far as their conditions go.

    Args:
        given: `rules` as on the wire in hex, `outputs` with `safe` and `needs`, `ranges` of
            readings by index and part, `asked` the numbers of the rules that are new. `orders`,
            output and value of each, count as rules without a condition after the others.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        frame, self._make = (
            importlib.import_module("frame"),
            importlib.import_module("node.reflex_rule").Rule,
        )
        raws = [bytes.fromhex(one) for one in given["rules"]]
        self._rules = [self._rule(raw) for raw in raws]
        self.fields = [struct.unpack_from(frame.RULE_FORMAT, raw) for raw in raws]
        self.fields += [(1, 0, *one) for one in given.get("orders", ())]
        self.outputs = {one["index"]: one for one in given["outputs"]}
        self._ranges = {(one[0], one[1]): (one[2], one[3]) for one in given["ranges"]}
        self._known: dict[tuple[_Key, frozenset[_Part]], list[ReadingState]] = {}

    def parts(self, rule: int) -> frozenset[_Part]:
        return frozenset((rule, which) for which in range(self.fields[rule][1]))

    def output(self, rule: int) -> int:
        return int(self.fields[rule][_OUTPUT])

    def value(self, rule: int) -> int:
        return int(self.fields[rule][_VALUE])

    def is_order(self, rule: int) -> bool:
        return not self.fields[rule][1]

    def is_on(self, rule: int) -> bool:
        """Return true if the rule takes its output away from the safe value."""
        return bool(self.value(rule) != self.outputs[self.output(rule)]["safe"])

    def counterexample(self, wanted: Wanted) -> _Found | None:
        """Return a value of each reading at which it is so; None where it can never be."""
        every = wanted.hold | wanted.fail
        keys = sorted({self._key(part) for part in every})
        found: _Found = []
        for key in keys:
            parts = frozenset(part for part in every if self._key(part) == key)
            state = next(
                (one for one in self._states(key, parts) if _suits(one, parts, key, wanted)), None
            )
            if state is None:
                return None
            found.append([*key, state.value, list(state.path)])
        return found

    def uncovered(self, wanted: Wanted, rules: Sequence[int]) -> _Found | None:
        """Return where that is so and none of the rules holds; None where one always does."""
        if self.counterexample(wanted) is None:
            return None
        if not rules:
            return self.counterexample(wanted)
        for part in sorted(self.parts(rules[0])):
            tried = Wanted(wanted.hold, wanted.fail | {part}, wanted.not_at)
            if (found := self.uncovered(tried, rules[1:])) is not None:
                return found
        return None

    def _rule(self, raw: bytes) -> Any:
        made = self._make()
        made.fill(raw)
        return made

    def _condition(self, part: _Part) -> tuple[int, ...]:
        at = _FIRST + _FIELDS * part[1]
        return self.fields[part[0]][at : at + _FIELDS]

    def _key(self, part: _Part) -> _Key:
        index, code, _, _ = self._condition(part)
        return index, code >> 4

    def _holds(self, part: _Part, value: int, *, held: bool) -> bool:
        """Ask the firmware."""
        rule, which = self._rules[part[0]], part[1]
        rule.rest()
        rule._holds = held << which  # noqa: SLF001 - what the firmware remembers of the pass before
        return bool(rule.look(which, value))

    def _states(self, key: _Key, parts: frozenset[_Part]) -> list[ReadingState]:
        """Return every state that the reading can come to, the simplest first."""
        if (key, parts) not in self._known:
            self._known[key, parts] = self._reached(self._values(key, parts), parts)
        return self._known[key, parts]

    def _reached(self, values: Sequence[int], parts: frozenset[_Part]) -> list[ReadingState]:
        found: dict[tuple[int, frozenset[_Part]], ReadingState] = {}
        open_: deque[ReadingState | None] = deque([None])
        while open_:
            state = open_.popleft()
            before = state.holding if state else frozenset()
            path = (*state.path, state.value) if state else ()
            for value in values:
                now = frozenset(one for one in parts if self._holds(one, value, held=one in before))
                if (value, now) not in found:
                    found[value, now] = ReadingState(value, now, path)
                    open_.append(found[value, now])
            if len(found) > MOST_STATES:
                raise ValueError("the rules have too many thresholds to look through")
        return list(found.values())

    def _values(self, key: _Key, parts: frozenset[_Part]) -> list[int]:
        low, high = self._ranges.get(key, (-(1 << 31), (1 << 31) - 1))
        found = {low, high} if high - low == 1 else set()
        for part in parts:
            _, _, value, slack = self._condition(part)
            for edge in (value - slack, value, value + slack):
                found |= {edge - 1, edge, edge + 1}
        return sorted(one for one in found if low <= one <= high)


def run(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conflicts of the new rules with all rules."""
    rules = RuleSet(given)
    found = [one for asked in given["asked"] for one in _of(rules, asked)]
    kept: dict[tuple[object, ...], dict[str, Any]] = {}
    for one in found:
        kept.setdefault((one["kind"], *sorted(one["rules"]), *sorted(one["outputs"])), one)
    return {"conflicts": list(kept.values())}


def _of(rules: RuleSet, asked: int) -> Iterator[dict[str, Any]]:
    for other in range(len(rules.fields)):
        # One after the other, orders are no contradiction
        if other != asked and not (rules.is_order(other) and rules.is_order(asked)):
            yield from _opposed(rules, asked, other)
            yield from _together(rules, asked, other)
            yield from _together(rules, other, asked)
    yield from _missing(rules, asked)


def _opposed(rules: RuleSet, one: int, other: int) -> Iterator[dict[str, Any]]:
    """Yield that two rules set one output to two values."""
    if rules.output(one) != rules.output(other) or rules.value(one) == rules.value(other):
        return
    wanted = Wanted(rules.parts(one) | rules.parts(other))
    if (state := rules.counterexample(wanted)) is not None:
        yield _told("opposed", [one, other], [rules.output(one)], state)


def _together(rules: RuleSet, one: int, other: int) -> Iterator[dict[str, Any]]:
    """Yield that a rule takes an output away from what another one's output needs."""
    if not rules.is_on(one) or not rules.is_on(other):
        return
    for index, value in rules.outputs[rules.output(one)]["needs"]:
        if index == rules.output(other) and rules.value(other) != value:
            wanted = Wanted(rules.parts(one) | rules.parts(other))
            if (state := rules.counterexample(wanted)) is not None:
                yield _told("together", [one, other], [rules.output(one), index], state)


def _missing(rules: RuleSet, one: int) -> Iterator[dict[str, Any]]:
    """Yield that a rule switches an output on without another one that it needs."""
    if not rules.is_on(one):
        return
    for index, value in rules.outputs[rules.output(one)]["needs"]:
        needed = rules.outputs.get(index)
        if needed is None or needed["safe"] == value:
            continue
        able = [
            other
            for other in range(len(rules.fields))
            if rules.output(other) == index and rules.value(other) == value
        ]
        wanted = Wanted(rules.parts(one), not_at=((index, 0), value))
        if (state := rules.uncovered(wanted, able)) is not None:
            yield _told("missing", [one], [rules.output(one), index], state)


def _suits(state: ReadingState, parts: frozenset[_Part], key: _Key, wanted: Wanted) -> bool:
    if wanted.not_at == (key, state.value):
        return False
    return state.holding & parts == wanted.hold & parts and not state.holding & wanted.fail


def _told(kind: str, rules: list[int], outputs: list[int], state: _Found) -> dict[str, Any]:
    return {"kind": kind, "rules": rules, "outputs": outputs, "state": state}
