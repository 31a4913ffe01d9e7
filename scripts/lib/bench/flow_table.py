"""The table of what was found of a message's way."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from scripts.lib.bench.flow_turns import Spent, Taken
from scripts.lib.bench.table import NO_BAR, Row

# Of a turn: milliseconds, and times the floor's; the lower one counts
BUDGETS = {"plain": (8.0, 6.0), "tool": (10.0, 7.0)}
CPU_BUDGET_MS = 9.0
STORED_BUDGET_KIB = 16.0
RSS_BUDGETS_MIB = {"before the first message": 42, "after it": 90, "after ten idle minutes": 50}
START_BUDGET_S = 0.28
WAKE_BUDGETS = {True: 10.0, False: 2.0}
# A board lets its outputs go when it has heard nothing for 500 ms, of which the pause before the
# next word takes 120; a Pi Zero is eight times slower
PAUSE_BUDGET_MS = 45.0
# The last turns of a long session may take this much longer than the first, which is what a busy
# machine adds; a cost that grows with the session would add more
FLAT_BUDGET = 1.5
_TENTH = 10
_MIB = 1024 * 1024


@dataclass
class Found:
    """Everything measured."""

    starts: list[tuple[float, float]] = field(default_factory=list)
    rss: dict[str, int] = field(default_factory=dict)
    turns: dict[str, Taken] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)
    wakes: dict[bool, tuple[float, float]] = field(default_factory=dict)
    # Milliseconds and place of each pause of the loop
    pauses: list[tuple[float, str]] = field(default_factory=list)
    floor_cpu_s: float = 0.0
    # Of one reading by the embedding model
    reading_cpu_s: float = 0.0
    per_s: float = 0.0


def rows_of(found: Found) -> Iterator[Row]:
    for kind, taken in found.turns.items():
        yield from _turn_rows(kind, taken)
    plain = found.turns["plain"].turn_s
    tenth = max(1, len(plain) // _TENTH)
    first, last = statistics.median(plain[:tenth]), statistics.median(plain[-tenth:])
    yield Row(
        "the last tenth of the session",
        f"<= {FLAT_BUDGET:g}x the first",
        f"{last / first:.2f}x ({last * 1e3:.2f} ms)",
        f"{first * 1e3:.2f} ms in the first tenth",
        last <= FLAT_BUDGET * first,
    )
    yield from _spent_rows(found)
    yield from _idle_rows(found)
    longest_ms, place = found.pauses[0] if found.pauses else (0.0, "none over 10 ms")
    yield Row(
        "longest pause of the loop, first messages, CPU",
        f"<= {PAUSE_BUDGET_MS:g} ms",
        f"{longest_ms:.0f} ms ({place})",
        "",
        longest_ms <= PAUSE_BUDGET_MS,
    )
    yield Row("messages of 8 people at once", NO_BAR, f"{found.per_s:.0f} per second", "", None)


def _turn_rows(kind: str, taken: Taken) -> Iterator[Row]:
    budget_ms, times = BUDGETS[kind]
    turn_ms = statistics.median(taken.turn_s) * 1e3
    floor_ms = statistics.median(taken.floor_s) * 1e3
    worst_ms = sorted(taken.turn_s)[int(len(taken.turn_s) * 0.95)] * 1e3
    yield Row(
        f"a {kind} turn, p50",
        f"<= {budget_ms:g} ms and {times:g}x the floor",
        f"{turn_ms:.2f} ms, {turn_ms / floor_ms:.1f}x ({len(taken.turn_s):,} turns)",
        f"{floor_ms:.2f} ms (a bot of Python's library, in turns)",
        turn_ms <= min(budget_ms, times * floor_ms),
    )
    yield Row(f"a {kind} turn, p95", NO_BAR, f"{worst_ms:.2f} ms", "", None)


def _spent_rows(found: Found) -> Iterator[Row]:
    for kind, spent in found.spent.items():
        is_judged = kind == "plain"
        reading_ms = found.reading_cpu_s * 1e3
        cpu_ms, kib = spent.cpu_s * 1e3, spent.written_bytes / 1024
        yield Row(
            f"CPU of a {kind} turn, in a row, with what follows it",
            f"<= {CPU_BUDGET_MS:g} ms" if is_judged else NO_BAR,
            f"{cpu_ms:.2f} ms",
            f"{found.floor_cpu_s * 1e3:.2f} ms (the floor), {reading_ms:.2f} ms (model, a text)",
            cpu_ms <= CPU_BUDGET_MS if is_judged else None,
        )
        yield Row(
            f"written for a {kind} turn, durable",
            f"<= {STORED_BUDGET_KIB:g} KiB" if is_judged else NO_BAR,
            f"{kib:.1f} KiB",
            "0 (the floor keeps nothing)",
            kib <= STORED_BUDGET_KIB if is_judged else None,
        )


def _idle_rows(found: Found) -> Iterator[Row]:
    wall_s = statistics.median(wall for wall, _ in found.starts)
    cpu_s = min(cpu for _, cpu in found.starts)
    yield Row(
        "start to the first poll, CPU",
        f"<= {START_BUDGET_S:g} s",
        f"{cpu_s:.2f} s ({wall_s:.2f} s on the clock)",
        "",
        cpu_s <= START_BUDGET_S,
    )
    for has_board, (wakes, cpu_s) in found.wakes.items():
        yield Row(
            f"wake-ups a second, idle, {'with' if has_board else 'without'} a board",
            f"<= {WAKE_BUDGETS[has_board]:g}",
            f"{wakes:.1f} ({cpu_s * 1e3:.1f} ms of CPU)",
            "",
            wakes <= WAKE_BUDGETS[has_board],
        )
    for when, rss_bytes in found.rss.items():
        budget = RSS_BUDGETS_MIB.get(when)
        mib = rss_bytes / _MIB
        yield Row(
            f"RSS {when}",
            f"<= {budget} MiB" if budget else NO_BAR,
            f"{mib:.1f} MiB",
            "",
            mib <= budget if budget else None,
        )
