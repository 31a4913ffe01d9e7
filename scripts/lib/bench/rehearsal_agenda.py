"""Rehearsals of jobs and watches, held against the schedule, the watcher and the board at work."""

import asyncio
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.readings import rule_code
from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from agent.schedule.past_runs import past_runs
from firmware.host import interpreter
from scripts.lib.bench.job_cases import BERLIN, random_job, scheduled
from scripts.lib.bench.rehearsal_cases import acts_of_board, cpu_s, ordered_case
from scripts.lib.bench.table import Row
from scripts.lib.bench.watch_cases import events_of_board, random_watch, rehearsed
from scripts.lib.bench.watch_live import told_live

JOBS, WATCHES = 100, 60
MOST_CPU_S = 3.0
# A store takes no more
_TOGETHER = 50
_DAY_S = 86_400.0
# A case in which a reflex acts, and not too often to go on
_WITH_RULES = 2
# Around both changes of the clock
_BEGINS = ((2026, 3, 28), (2026, 10, 24))
_EQUAL = "all equal"


async def orders_row(cases: int) -> Row:
    """Compare what comes of the Pi's orders, beside reflexes, limits and interlocks."""
    name = f"orders in {cases} random cases come to the same as on the board, MicroPython 32 bit"
    made = [ordered_case(seed) for seed in range(cases)]
    try:
        seen = await asyncio.to_thread(acts_of_board, made)
    except interpreter.NoInterpreter as err:
        return Row(name, _EQUAL, str(err), "", None)
    equal = orders = refused = 0
    for case, board in zip(made, seen, strict=True):
        found = await rule_code.run("virtual_board", case, None)
        equal += all(found[key] == board[key] for key in ("orders", "acts", "rules"))
        orders += len(board["orders"])
        refused += sum(bool(code) for *_, code, _pin in board["orders"])
    about = f"{orders} orders, {refused} refused"
    return Row(name, _EQUAL, f"{equal} of {cases}", about, equal == cases)


async def jobs_row(count: int) -> Row:
    """Compare the runs of jobs over two days in which the clock is changed."""
    equal = runs = 0
    for place, begin in enumerate(_BEGINS):
        begin_s = datetime(*begin, 12, 0, 17, tzinfo=BERLIN).timestamp()
        mine = range(place, count, len(_BEGINS))
        for first in range(0, len(mine), _TOGETHER):
            jobs = [random_job(seed, begin_s) for seed in mine[first : first + _TOGETHER]]
            found = await _live(jobs, begin_s)
            for job in jobs:
                equal += found[job.name] == past_runs(job, begin_s, begin_s + 2 * _DAY_S, BERLIN)
                runs += len(found[job.name])
    name = f"runs of {count} random jobs as the schedule at work, over changes to and from summer"
    return Row(name, _EQUAL, f"{equal} of {count}", f"{runs} runs", equal == count)


async def _live(jobs: list[Job], begin_s: float) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as name:
        store = JobStore(Path(name) / "jobs.json")
        return await scheduled(jobs, begin_s, begin_s + 2 * _DAY_S, store)


async def busy_job_row() -> Row:
    """Measure a job that runs as often as one may."""
    begin_s = datetime(2026, 10, 1, 12, 0, tzinfo=BERLIN).timestamp()
    job = Job(
        name="busy", channel="fake", target="1", person="owner", prompt="x", cron="*/15 * * * *"
    )
    before_s = cpu_s()
    runs = past_runs(job, begin_s, begin_s + 30 * _DAY_S, BERLIN)
    orders = [
        {"at_ms": round((at_s - begin_s) * 1000), "index": 2, "value": 1, "for_ms": 60_000}
        for at_s in runs
    ]
    case = _lengthened(ordered_case(_WITH_RULES), round(30 * _DAY_S * 1000)) | {"orders": orders}
    done = await rule_code.run("virtual_board", case, None)
    took_s = cpu_s() - before_s
    return Row(
        "rehearsal of 30 days of a job that acts every 15 minutes, CPU",
        f"<= {MOST_CPU_S:g} s",
        f"{took_s:.2f} s",
        f"{len(done['orders'])} orders, {len(done['acts'])} acts of {len(case['rules'])} reflexes",
        took_s <= MOST_CPU_S and len(done["orders"]) == len(runs),
    )


def _lengthened(case: dict[str, Any], length_ms: int) -> dict[str, Any]:
    """Return the case over a longer time, so that its reflexes act in all of it."""
    factor = length_ms // case["length_ms"]
    histories = [one | {"times": [at * factor for at in one["times"]]} for one in case["histories"]]
    return case | {"length_ms": length_ms, "histories": histories}


async def watches_row(count: int) -> Row:
    """Compare what watches tell with a watcher at work on the events of a board."""
    name = f"told by {count} random watches as by those at work, board in MicroPython 32 bit"
    cases = [random_watch(seed) for seed in range(count)]
    try:
        seen = await asyncio.to_thread(events_of_board, cases)
    except interpreter.NoInterpreter as err:
        return Row(name, _EQUAL, str(err), "", None)
    equal = told = 0
    for case, board in zip(cases, seen, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            live = await told_live(case, board["events"], Path(folder))
        equal += live == await rehearsed(case)
        told += len(live)
    events = sum(len(one["events"]) for one in seen)
    return Row(name, _EQUAL, f"{equal} of {count}", f"{events} events, {told} told", equal == count)
