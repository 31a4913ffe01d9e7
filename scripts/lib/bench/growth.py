"""Measures what a long life costs: the same start and the same turns, with more and more kept.

Each step makes the state of an agent anew: messages of fifty people, memories with vectors, jobs
and the audit log, a share of a long life each time. Then the agent starts as a process and talks
to its owner. The curves are drawn into an SVG.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.bench import flow_turns, growth_chart, growth_state
from scripts.lib.bench.flow_agent import opened
from scripts.lib.bench.growth_chart import Curve
from scripts.lib.bench.table import NO_BAR, Row, show

SHARES = (0.0, 0.1, 0.3, 0.5, 1.0)
STARTS, WARM_UP, TURNS = 3, 5, 40
# Files, caches and the memory are in use by then, and what a start left to be done is done
_SETTLED_S = 8.0
# At the end of the long life, times what an empty agent takes
START_BUDGET = 1.5
# The journal keeps a fixed number of messages, the audit log of files
JOURNAL_BUDGET_MB, AUDIT_BUDGET_MB = 64.0, 11.0
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Step:
    """Measurements with a share of the long life."""

    messages: int
    start_cpu_s: float
    turn_cpu_s: float
    rss_start_bytes: int
    rss_used_bytes: int
    journal_bytes: int
    memory_bytes: int
    audit_bytes: int


def main(arguments: Sequence[str]) -> int:
    """Measure, draw, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    steps = []
    for share in SHARES:
        steps.append(asyncio.run(_step(share * given.share)))
        # A whole run takes long: one that is broken off has told something
        print(f"  {_told(steps[-1]).measured}; {_told(steps[-1]).baseline}", flush=True)
    print()
    rows = [*_rows(steps), *map(_told, steps)]
    show(rows)
    if given.svg is not None:
        given.svg.write_text(growth_chart.drawn(_curves(steps)), encoding="utf-8")
        print(f"\nwrote {given.svg}")
    return 0 if all(row.held is not False for row in rows) else 1


async def _step(share: float) -> Step:
    async with opened(has_board=False) as both:
        state = both.agent.state
        # In a thread: the floor beside it asks this process all the time
        messages = await asyncio.to_thread(growth_state.fill, state, share)
        print(f"{messages:,} messages: start and turns ...", flush=True)
        starts = []
        for number in range(STARTS):
            starts.append((await flow_turns.start(both))[1])
            if number < STARTS - 1:
                both.agent.kill()
        await asyncio.sleep(_SETTLED_S)
        begun = both.agent.used
        for number in range(WARM_UP):
            await flow_turns.turn(both.agents, f"Is lamp {number} on?")
        await asyncio.sleep(_SETTLED_S)
        spent = await flow_turns.in_a_row(both, "plain", TURNS)
        return Step(
            messages,
            min(starts),
            spent.cpu_s,
            begun.rss_bytes,
            both.agent.used.rss_bytes,
            _bytes_of(state, "agent.db*"),
            _bytes_of(state, "memory/*"),
            _bytes_of(state, "audit/*"),
        )


def _bytes_of(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


def _rows(steps: Sequence[Step]) -> list[Row]:
    first, last = steps[0], steps[-1]
    return [
        Row(
            f"start to the first poll with {last.messages:,} messages, CPU",
            f"<= {START_BUDGET:g}x an empty agent",
            f"{last.start_cpu_s / first.start_cpu_s:.2f}x ({last.start_cpu_s:.2f} s)",
            f"{first.start_cpu_s:.2f} s",
            last.start_cpu_s <= START_BUDGET * first.start_cpu_s,
        ),
        _bounded("journal", last.journal_bytes, JOURNAL_BUDGET_MB),
        _bounded("audit log", last.audit_bytes, AUDIT_BUDGET_MB),
    ]


def _bounded(what: str, found_bytes: int, budget_mb: float) -> Row:
    found_mb = found_bytes / _MB
    told = f"{found_mb:.1f} MB"
    return Row(f"the {what} then", f"<= {budget_mb:g} MB", told, "", found_mb <= budget_mb)


def _told(step: Step) -> Row:
    used = f"{step.rss_start_bytes / _MB:.0f} and {step.rss_used_bytes / _MB:.0f} MB of RSS"
    files = f"journal {step.journal_bytes / _MB:.1f}, memory {step.memory_bytes / _MB:.1f} MB"
    cpu = f"start {step.start_cpu_s:.2f} s, plain turn {step.turn_cpu_s * 1e3:.1f} ms of CPU"
    return Row(f"with {step.messages:,} messages", NO_BAR, f"{cpu}; {used}", files, None)


def _curves(steps: Sequence[Step]) -> list[Curve]:
    at = [step.messages for step in steps]
    return [
        Curve("start, s of CPU", at, [step.start_cpu_s for step in steps]),
        Curve("plain turn, ms of CPU", at, [step.turn_cpu_s * 1e3 for step in steps]),
        Curve("RSS in use, MB", at, [step.rss_used_bytes / _MB for step in steps]),
        Curve("journal, MB", at, [step.journal_bytes / _MB for step in steps]),
        Curve("memory, MB", at, [step.memory_bytes / _MB for step in steps]),
        Curve("audit log, MB", at, [step.audit_bytes / _MB for step in steps]),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-growth", description=__doc__)
    parser.add_argument("--svg", type=Path, help="draw the curves into this file")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the long life: 0.01 to try the bench itself"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
