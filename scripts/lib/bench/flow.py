"""Measures a message's way as people use it: from Telegram through the whole agent and back.

The agent is a process of its own with its embedding model, its memory and a board; the model
service is asked over HTTP and streams. Beside each turn the floor takes one: a bot of Python's
library alone that makes the same calls and keeps nothing. Everything of the agent is kept on disk.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Sequence

from scripts.lib.bench import flow_stages, flow_turns
from scripts.lib.bench.flow_agent import MODEL, Both, opened
from scripts.lib.bench.flow_table import Found, rows_of
from scripts.lib.bench.process import Used
from scripts.lib.bench.table import show

TURNS, QUICK_TURNS = 400, 50
# What a start leaves to be done is done by then: the record of readings begins at the next ten
# seconds of the clock, and makes its database
SETTLED_S = 15.0
# What a turn leaves to be done
TURN_SETTLED_S = 3.0
STARTS = 5
IDLE_S, QUICK_IDLE_S = 600.0, 0.0
LOOKED_AT_S = 20.0


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    if given.profile:
        asyncio.run(_profiled(given.turns or QUICK_TURNS))
        return 0
    turns = given.turns or (QUICK_TURNS if given.quick else TURNS)
    found = asyncio.run(_measured(turns, QUICK_IDLE_S if given.quick else given.idle))
    rows = list(rows_of(found))
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


async def _measured(turns: int, idle_s: float) -> Found:
    found = Found()
    async with opened(has_board=False) as both:
        await _started(both, found)
        await asyncio.sleep(SETTLED_S)
        print("idle, without a board ...", flush=True)
        wakes, cpu_s, used = await flow_turns.idle(both, LOOKED_AT_S)
        found.wakes[False] = (wakes, cpu_s)
        found.rss["before it, without a board"] = used.rss_bytes
    async with opened(has_board=True) as both:
        await flow_turns.start(both)
        await asyncio.sleep(SETTLED_S)
        print("idle, with a board ...", flush=True)
        wakes, cpu_s, used = await flow_turns.idle(both, LOOKED_AT_S)
        found.wakes[True] = (wakes, cpu_s)
        await _used(both, found, used, turns, idle_s)
    found.pauses = await _paused()
    return found


async def _paused() -> list[tuple[float, str]]:
    """Return the pauses of a first conversation, the longest first."""
    print("pauses of the loop ...", flush=True)
    async with opened(has_board=True, piece="flow_pauses") as both:
        await flow_turns.start(both)
        await asyncio.sleep(SETTLED_S)
        both.agent.seen.write_bytes(b"")
        for kind in ("plain", "tool", "plain"):
            await flow_turns.turn(both.agents, flow_turns.ASKED[kind].format(number=1))
            await asyncio.sleep(TURN_SETTLED_S)
        lines = both.agent.seen.read_text().splitlines()
    return sorted(((ms, place) for ms, place in map(json.loads, lines)), reverse=True)


async def _started(both: Both, found: Found) -> None:
    """Start and kill it some times; the last one goes on."""
    for number in range(STARTS):
        found.starts.append(await flow_turns.start(both))
        if number < STARTS - 1:
            both.agent.kill()


async def _used(both: Both, found: Found, idle: Used, turns: int, idle_s: float) -> None:
    found.rss["before the first message"] = idle.rss_bytes
    await flow_turns.turn(both.agents, "Good morning!")
    _, _, used = await flow_turns.idle(both, 1.0)
    found.rss["after it"] = used.rss_bytes
    await flow_turns.in_turns(both, flow_turns.WARM_UP)
    print(f"{turns:,} turns of each kind, in turns with the floor ...", flush=True)
    floor = Used.by(both.floor.pid).cpu_s
    found.turns = await flow_turns.in_turns(both, turns)
    found.floor_cpu_s = (Used.by(both.floor.pid).cpu_s - floor) / (turns * len(found.turns))
    for kind in found.turns:
        print(f"{turns:,} turns in a row, {kind} ...", flush=True)
        found.spent[kind] = await flow_turns.in_a_row(both, kind, turns)
    found.reading_cpu_s = await flow_turns.reading_cpu_s(MODEL)
    found.per_s = await flow_turns.at_once(both)
    found.rss[f"after {turns * 4 + flow_turns.AT_ONCE:,} messages"] = both.agent.used.rss_bytes
    if idle_s:
        print(f"{idle_s / 60:g} minutes idle ...", flush=True)
        await flow_turns.idle(both, idle_s)
        found.rss["after ten idle minutes"] = both.agent.used.rss_bytes


async def _profiled(turns: int) -> None:
    async with opened(has_board=True, piece="flow_stages") as both:
        await flow_turns.start(both)
        await flow_turns.in_turns(both, flow_turns.WARM_UP)
        both.agent.seen.write_bytes(b"")
        taken = await flow_turns.in_turns(both, turns)
        for kind, one in taken.items():
            print(f"{kind}: {statistics.median(one.turn_s) * 1e3:.2f} ms")
        print(flow_stages.table(both.agent.seen.read_text()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-flow", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_TURNS} turns, and no ten idle minutes"
    )
    parser.add_argument("--turns", type=int, default=0, help=f"of each kind; default {TURNS:,}")
    parser.add_argument(
        "--idle", type=float, default=IDLE_S, help=f"seconds at the end; default {IDLE_S:g}"
    )
    parser.add_argument(
        "--profile", action="store_true", help="the time of each stage of a turn, instead"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
