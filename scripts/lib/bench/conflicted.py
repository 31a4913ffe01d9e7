"""Conflicts seeded into rule sets: what the search finds, beside a look at every state there is.

A sound set of rules waters, heats and airs; its copies are changed at random, so that some of them
contradict a limit.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent.readings import rule_code
from scripts.lib.bench.conflict_oracle import (
    ABOVE,
    BELOW,
    DOMAINS,
    EQUAL,
    NEEDS,
    SOUND,
    UNEQUAL,
    Rule,
    Test,
    every_conflict,
    in_state,
)
from scripts.lib.bench.rehearsal_cases import cpu_s, packed
from scripts.lib.bench.table import Row

SETS = 500
MOST_S = 1.0


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
    return _name(told) in set(in_state(rules, holding))


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
