"""Random rules, limits and histories, and what a board in MicroPython makes of them."""

import json
import os
import random
import resource
import struct
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from agent.link import frame as wire
from firmware.host import interpreter
from firmware.host.bundle import FIRMWARE, FRAME, REPOSITORY

DRIVER = REPOSITORY / "tests" / "firmware" / "rehearsal_board.py"
# By index: a number, a switch, two plain outputs and one with a range
NUMBER, SWITCH, OUTPUTS = 0, 1, (2, 3, 4)
_RANGED, _HIGHEST = 4, 1000
_NONE = (0, 0, 0, 0)
_LONGEST_MS = 10_000
_HEAP = "64m"


def random_case(seed: int) -> dict[str, Any]:
    """Return rules that a board takes, outputs with limits, and what the world does meanwhile."""
    chance = random.Random(seed)  # noqa: S311 - the same case again
    length_ms = chance.choice([60_000, 120_000, 300_000])
    outputs = [_output(chance, index) for index in OUTPUTS]
    longest = {one["index"]: one["limits"].get("max_on_ms", _LONGEST_MS) for one in outputs}
    count = chance.choice([1, 1, 2, 2, 3, 4, 5, 7, 16])
    number = _history(chance, length_ms, _walk(chance), chance.choice([300, 2000, 9000]))
    switch = _history(chance, length_ms, lambda: chance.randint(0, 1), 7000)
    return {
        "rules": [_rule(chance, longest).hex() for _ in range(count)],
        "outputs": outputs,
        "histories": [
            {"index": NUMBER, "part": 0} | number,
            {"index": SWITCH, "part": 0} | switch,
        ],
        "length_ms": length_ms,
    }


def ordered_case(seed: int) -> dict[str, Any]:
    """Return such a case in which the Pi gives orders, with few rules beside them or none."""
    chance = random.Random(f"ordered {seed}")  # noqa: S311 - the same case again
    case = random_case(seed)
    orders: list[dict[str, int]] = []
    at_ms = chance.randint(0, 5000)
    while at_ms < case["length_ms"]:
        index = chance.choice(OUTPUTS)
        value = 1 if chance.random() < 0.85 else 0  # noqa: PLR2004 - a share
        for_ms = chance.choice([0, 300, 2500, 20_000]) if value else 0
        orders.append({"at_ms": at_ms, "index": index, "value": value, "for_ms": for_ms})
        at_ms += chance.choice([0, 10, 4000, 15_000, 30_000])
    return case | {"rules": case["rules"][: chance.randint(0, 3)], "orders": orders}


def packed(
    conditions: Sequence[tuple[int, ...]], act: tuple[int, int, int], every_s: int, held_ms: int = 0
) -> bytes:
    """Return a rule as on the wire; an act is the output, the value and the milliseconds."""
    first, second = [*conditions, _NONE][:2]
    output, value, for_ms = act
    return struct.pack(
        wire.RULE_FORMAT,
        1,
        len(conditions),
        output,
        value,
        for_ms,
        every_s,
        held_ms,
        *first,
        *second,
        1,
        b"r",
    )


def cpu_s() -> float:
    """Return the time that this process and its children took: others may have the cores."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def acts_of_board(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the firmware does in MicroPython, in every pass of its loop.

    Raises:
        NoInterpreter: there is none on this machine.
    """
    done = subprocess.run(
        [*interpreter.find(), "-X", f"heapsize={_HEAP}", str(DRIVER)],
        input="\n".join(map(json.dumps, cases)),
        env={**os.environ, "MICROPYPATH": f"{FIRMWARE}:{FRAME.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _output(chance: random.Random, index: int) -> dict[str, Any]:
    limits: dict[str, Any] = {"name": f"pin {index}"}
    for key, values, share in (
        ("max_on_ms", (500, 2000, 5000), 0.4),
        ("min_off_ms", (700, 3000, 9000), 0.4),
        ("per_minute", (1, 2, 3, 4), 0.3),
    ):
        if chance.random() < share:
            limits[key] = chance.choice(values)
    others = [SWITCH, *(one for one in OUTPUTS if one != index)]
    needs = [[chance.choice(others), chance.randint(0, 1)]] if chance.random() < 0.3 else []  # noqa: PLR2004 - a share
    highest = _HIGHEST if index == _RANGED else 1
    return {"index": index, "safe": 0, "highest": highest, "limits": limits, "needs": needs}


def _rule(chance: random.Random, longest: dict[int, int]) -> bytes:
    conditions = [_condition(chance) for _ in range(chance.choice([1, 1, 2]))]
    output = chance.choice(OUTPUTS)
    value = 1 if output != _RANGED else chance.randint(1, _HIGHEST)
    for_ms = chance.randint(1, longest[output])
    if chance.random() < 0.15:  # noqa: PLR2004 - a share
        value = for_ms = 0
    every_s = max(for_ms // 1000 + 1, chance.choice([1, 2, 5, 20]))
    held_ms = chance.choice([0, 0, 300, 2500, 8000])
    return packed(conditions, (output, value, for_ms), every_s, held_ms)


def _condition(chance: random.Random) -> tuple[int, ...]:
    kind = chance.choices(["number", "switch", "output"], [65, 20, 15])[0]
    if kind == "number":
        comparison = chance.choice([0, 0, 1, 1, 2, 3])
        return NUMBER, comparison, chance.randint(-20, 20), chance.choice([0, 0, 3, 8])
    if kind == "switch":
        return SWITCH, chance.choice([2, 3]), chance.randint(0, 1), 0
    return chance.choice(OUTPUTS), 2, chance.randint(0, 1), 0


def _walk(chance: random.Random) -> Callable[[], int | None]:
    value = 0

    def step() -> int | None:
        nonlocal value
        value = max(-30, min(30, value + chance.randint(-6, 6)))
        # A sensor that fails now and then
        return value if chance.random() < 0.97 else None  # noqa: PLR2004 - a share

    return step


def _history(
    chance: random.Random, length_ms: int, value: Callable[[], int | None], mean_ms: int
) -> dict[str, list[Any]]:
    at_ms = chance.randint(0, 3000)
    times: list[int] = []
    values: list[int | None] = []
    while at_ms < length_ms:
        times.append(at_ms)
        values.append(value())
        at_ms += max(1, int(chance.expovariate(1 / mean_ms)))
    return {"times": times, "values": values}
