"""Rehearsals of reflexes: 30 days in virtual time, and the same acts as on a board."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.link.manifest import Manifest, read_manifest
from agent.link.reflexes import Condition, ReflexRule
from agent.readings import rule_code
from agent.readings.packing import Retention
from agent.readings.rehearsal import LENGTH_DAYS, Rehearsed, last_days, pasts, rehearse
from agent.readings.store import DAY_MS, ReadingStore
from firmware.host import interpreter
from scripts.lib.bench.reading_history import BEGIN_MS, recorded
from scripts.lib.bench.rehearsal_agenda import (
    JOBS,
    WATCHES,
    busy_job_row,
    jobs_row,
    orders_row,
    watches_row,
)
from scripts.lib.bench.rehearsal_cases import acts_of_board, cpu_s, random_case
from scripts.lib.bench.table import Row

CASES = 200
MOST_CPU_S = 3.0
RULES = 16
_SENSORS = 8
# The largest number of 32 bits
_WORD = (1 << 31) - 1


class _KnownBoard:
    """A board of which only the description matters."""

    def __init__(self, manifest: Manifest) -> None:
        self.name = "board"
        self.manifest: Manifest | None = manifest


def rehearsal_rows(cases: int, days: int) -> Iterator[Row]:
    yield asyncio.run(_month(min(days, LENGTH_DAYS)))
    yield asyncio.run(_equal(cases))
    yield asyncio.run(orders_row(cases))
    yield asyncio.run(jobs_row(min(cases, JOBS)))
    yield asyncio.run(busy_job_row())
    yield asyncio.run(watches_row(min(cases, WATCHES)))


async def _month(days: int) -> Row:
    with tempfile.TemporaryDirectory() as name:
        store = ReadingStore(Path(name), Retention(), "boot")
        await store.open()
        await recorded(store, days, 10)
        before_s = cpu_s()
        done = await _rehearsed(store, days)
        took_s = cpu_s() - before_s
        await store.aclose()
    return Row(
        f"rehearsal of {days} days, {RULES} rules on {_SENSORS} sensors at one a minute, CPU",
        f"<= {MOST_CPU_S:g} s",
        f"{took_s:.2f} s",
        f"{len(done.acts)} acts; the reading of the values and the child process are in it",
        took_s <= MOST_CPU_S,
    )


async def _rehearsed(store: ReadingStore, days: int) -> Rehearsed:
    board = _KnownBoard(_manifest())
    rules = [
        ReflexRule(
            f"rule_{number}",
            (Condition(f"sensor{number % _SENSORS}.temperature", "above", 14 + number, 0.3),),
            f"out{number % 4}",
            "on",
            3600,
            5,
        )
        for number in range(RULES)
    ]
    span = last_days((BEGIN_MS + days * DAY_MS) / 1000)
    past = await pasts(board, rules, store, span)
    return await rehearse(board, rules, past, span, None)


async def _equal(cases: int) -> Row:
    name = f"acts of {cases} random sets of rules and histories as on the board, MicroPython 32 bit"
    bar = "all equal"
    made = [random_case(seed) for seed in range(cases)]
    try:
        on_board = await asyncio.to_thread(acts_of_board, made)
    except interpreter.NoInterpreter as err:
        return Row(name, bar, str(err), "", None)
    equal = acts = 0
    for case, seen in zip(made, on_board, strict=True):
        found = await rule_code.run("virtual_board", case, None)
        equal += (found["acts"], found["rules"]) == (seen["acts"], seen["rules"])
        acts += len(seen["acts"])
    is_32_bit = all(one["largest"] == _WORD for one in on_board)
    rules = sum(len(case["rules"]) for case in made)
    return Row(
        name,
        bar,
        f"{equal} of {cases}",
        f"{rules} rules, {acts} acts{'' if is_32_bit else '; not of 32 bits'}",
        equal == cases and is_32_bit,
    )


def _manifest() -> Manifest:
    temperature = {"name": "temperature", "format": "h", "unit": "°C", "scale": 0.1}
    choice = {"name": "value", "format": "B", "choices": ["off", "on"]}
    methods = [
        {
            "id": 16,
            "name": "gpio_write",
            "about": "",
            "arguments": [{"name": "pin", "format": "B", "pins": "out"}, choice],
            "result": [choice],
            "safety": "actuate",
            "lease": True,
        },
        {
            "id": 26,
            "name": "climate_read",
            "about": "",
            "arguments": [{"name": "pin", "format": "B", "pins": "climate"}],
            "result": [temperature],
            "safety": "read",
        },
    ]
    sensors = [
        {"index": at, "name": f"sensor{at}", "pin": f"PA{at}", "can": ["climate"]}
        for at in range(_SENSORS)
    ]
    outputs = [
        {
            "index": _SENSORS + at,
            "name": f"out{at}",
            "pin": f"PB{at}",
            "can": ["out", "in"],
            "max_on_ms": 8000,
            "min_off_ms": 20_000,
            "per_minute": 2,
        }
        for at in range(4)
    ]
    described = {"manifest": 1, "board": "bench", "methods": methods, "pins": sensors + outputs}
    return read_manifest(json.dumps(described).encode())
