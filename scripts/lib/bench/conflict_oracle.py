"""Oracle of conflicts between rules: it looks at every state that there is.

It knows nothing of thresholds: each sensor takes every value, what holds is followed from each to
each, and all combinations are looked at.
"""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TEMPERATURE, HUMIDITY, LEVEL = 0, 1, 2
DOMAINS = {TEMPERATURE: range(41), HUMIDITY: range(31), LEVEL: range(2)}
HEATER, FAN, PUMP, VALVE = 10, 11, 12, 13
# Of each output: another one and the value that it must have
NEEDS = {HEATER: [(FAN, 1)], FAN: [], PUMP: [(VALVE, 0)], VALVE: [(PUMP, 0)]}
BELOW, ABOVE, EQUAL, UNEQUAL = range(4)

Found = frozenset[tuple[str, frozenset[int], frozenset[int]]]


@dataclass(frozen=True, slots=True)
class Test:
    """Condition of a rule."""

    reading: int
    comparison: int
    value: int
    slack: int = 0

    def holds(self, value: int, *, held: bool) -> bool:
        """Return true if it holds at the value, as the guide of the firmware says."""
        away = value - self.value
        if self.comparison == BELOW:
            return away < (self.slack if held else 0)
        if self.comparison == ABOVE:
            return away > (-self.slack if held else 0)
        is_near = abs(away) <= self.slack
        return is_near if self.comparison == EQUAL else not is_near


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule of the set."""

    tests: tuple[Test, ...]
    output: int
    value: int


SOUND = (
    Rule((Test(TEMPERATURE, BELOW, 18, 2),), HEATER, 1),
    Rule((Test(TEMPERATURE, BELOW, 22, 1),), FAN, 1),
    Rule((Test(TEMPERATURE, ABOVE, 30, 2), Test(HUMIDITY, ABOVE, 20)), FAN, 1),
    Rule((Test(HUMIDITY, BELOW, 10, 3), Test(LEVEL, EQUAL, 1)), PUMP, 1),
    Rule((Test(HUMIDITY, ABOVE, 16, 2), Test(TEMPERATURE, ABOVE, 12)), VALVE, 1),
    Rule((Test(LEVEL, EQUAL, 0),), PUMP, 0),
)


def every_conflict(rules: Sequence[Rule]) -> Found:
    """Return each conflict that there is, by looking at every state."""
    of_readings = [sorted(_holding(rules, reading)) for reading in DOMAINS]
    tests = [
        frozenset((at, one) for one in range(len(rule.tests))) for at, rule in enumerate(rules)
    ]
    found: set[tuple[str, frozenset[int], frozenset[int]]] = set()
    for combined in itertools.product(*of_readings):
        held = frozenset().union(*combined)
        found.update(in_state(rules, [at for at, needed in enumerate(tests) if needed <= held]))
    return frozenset(found)


def in_state(
    rules: Sequence[Rule], holding: Sequence[int]
) -> Iterator[tuple[str, frozenset[int], frozenset[int]]]:
    """Yield the conflicts of the rules that hold at once."""
    for one, other in itertools.permutations(holding, 2):
        first, second = rules[one], rules[other]
        if first.output == second.output and first.value != second.value:
            yield "opposed", frozenset({one, other}), frozenset({first.output})
        for index, value in NEEDS[first.output]:
            if first.value and second.value and (second.output, 1 - value) == (index, 1):
                yield "together", frozenset({one, other}), frozenset({first.output, index})
    able = {(rules[at].output, rules[at].value) for at in holding}
    for one in holding:
        for index, value in NEEDS[rules[one].output]:
            if rules[one].value and value and (index, value) not in able:
                yield "missing", frozenset({one}), frozenset({rules[one].output, index})


def _holding(rules: Sequence[Rule], reading: int) -> set[frozenset[tuple[int, int]]]:
    """Return all that can hold at once of the tests of a reading."""
    tests = {
        (at, which): one
        for at, rule in enumerate(rules)
        for which, one in enumerate(rule.tests)
        if one.reading == reading
    }
    seen: set[frozenset[tuple[int, int]]] = set()
    open_ = deque([frozenset[tuple[int, int]]()])
    while open_:
        before = open_.popleft()
        for value in DOMAINS[reading]:
            now = frozenset(
                key for key, one in tests.items() if one.holds(value, held=key in before)
            )
            if now not in seen:
                seen.add(now)
                open_.append(now)
    return seen
