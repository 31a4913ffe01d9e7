"""Conflicts seeded into rule sets: what the search finds, beside a look at every state there is.

A sound set of rules waters, heats and airs; its copies are changed at random, so that some of them
contradict a limit. The oracle knows nothing of thresholds: it lets each sensor take every value and
follows what holds from each to each, then looks at all combinations.
"""

import asyncio
import itertools
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.readings import rule_code
from scripts.lib.bench.rehearsal_cases import cpu_s, packed
from scripts.lib.bench.table import Row

SETS = 500
MOST_S = 1.0
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


def conflict_rows(count: int) -> Iterator[Row]:
    yield asyncio.run(_searched(count))


async def _searched(count: int) -> Row:
    missed = invented = seeded = bad = 0
    slowest_s = 0.0
    for seed in range(count):
        rules = mutated(random.Random(seed))  # noqa: S311 - the same sets again
        known = every_conflict(rules)
        begun_s = cpu_s()
        told = await rule_code.run("rule_conflicts", task_of(rules), None)
        slowest_s = max(slowest_s, cpu_s() - begun_s)
        found = {_name(one): one for one in told["conflicts"]}
        seeded += bool(known)
        missed += len(known - found.keys())
        invented += len(found.keys() - known)
        bad += sum(not is_shown(rules, one) for one in found.values())
    return Row(
        f"conflicts in {count} mutated rule sets, {seeded} of them with one",
        f"all, none invented, <= {MOST_S:g} s of CPU each",
        f"{missed} missed, {invented} invented, {bad} wrong counterexamples, {slowest_s:.2f} s",
        "every value of every sensor, each from each",
        not missed and not invented and not bad and slowest_s <= MOST_S and seeded > 0,
    )


def mutated(chance: random.Random) -> list[Rule]:
    """Return the sound rules with none to four of them changed."""
    rules = list(SOUND)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(rules))
        rules[at] = _changed(rules[at], chance)
    return rules


def task_of(rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the rules in the words of the search."""
    raws = []
    for rule in rules:
        tests = [(one.reading, one.comparison, one.value, one.slack) for one in rule.tests]
        raws.append(packed(tests, (rule.output, rule.value, 1000 * rule.value), 60).hex())
    outputs = [
        {"index": index, "safe": 0, "needs": [list(one) for one in needs]}
        for index, needs in NEEDS.items()
    ]
    ranges = [[reading, 0, values[0], values[-1]] for reading, values in DOMAINS.items()]
    asked = list(range(len(rules)))
    return {"rules": raws, "outputs": outputs, "ranges": ranges, "asked": asked}


def every_conflict(rules: Sequence[Rule]) -> Found:
    """Return each conflict that there is, by looking at every state."""
    of_readings = [sorted(_holding(rules, reading)) for reading in DOMAINS]
    tests = [
        frozenset((at, one) for one in range(len(rule.tests))) for at, rule in enumerate(rules)
    ]
    found: set[tuple[str, frozenset[int], frozenset[int]]] = set()
    for combined in itertools.product(*of_readings):
        held = frozenset().union(*combined)
        found.update(_in_state(rules, [at for at, needed in enumerate(tests) if needed <= held]))
    return frozenset(found)


def is_shown(rules: Sequence[Rule], told: dict[str, Any]) -> bool:
    """Return true if what is told is so once the sensors took the values that it tells."""
    held: set[tuple[int, int]] = set()
    known = {reading: (*path, value) for reading, _, value, path in told["state"]}
    for at, rule in enumerate(rules):
        for which, test in enumerate(rule.tests):
            now = False
            for value in known.get(test.reading, ()):
                now = test.holds(value, held=now)
            held |= {(at, which)} if now else set()
    holding = [
        at
        for at, rule in enumerate(rules)
        if all((at, which) in held for which in range(len(rule.tests)))
    ]
    return _name(told) in set(_in_state(rules, holding))


def _in_state(
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


def _changed(rule: Rule, chance: random.Random) -> Rule:
    kind = chance.choice(["value", "slack", "comparison", "drop", "output", "off", "add"])
    at = chance.randrange(len(rule.tests))
    test = rule.tests[at]
    others = (*rule.tests[:at], *rule.tests[at + 1 :])
    if kind == "drop" and others:
        return replace(rule, tests=others)
    if kind == "output":
        return replace(rule, output=chance.choice(list(NEEDS)))
    if kind == "off":
        return replace(rule, value=1 - rule.value)
    if kind == "add" and len(rule.tests) == 1:
        reading = chance.choice(list(DOMAINS))
        added = Test(
            reading, chance.choice([BELOW, ABOVE, EQUAL, UNEQUAL]), _value(reading, chance)
        )
        return replace(rule, tests=(test, added))
    if kind == "comparison":
        changed = replace(test, comparison=chance.randrange(4))
    elif kind == "slack":
        changed = replace(test, slack=chance.randrange(9))
    else:
        changed = replace(test, value=_value(test.reading, chance))
    return replace(rule, tests=(*rule.tests[:at], changed, *rule.tests[at + 1 :]))


def _value(reading: int, chance: random.Random) -> int:
    return chance.choice(DOMAINS[reading])


def _name(told: dict[str, Any]) -> tuple[str, frozenset[int], frozenset[int]]:
    return told["kind"], frozenset(told["rules"]), frozenset(told["outputs"])
