"""Rows of the table of the console's bench."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.lib.bench.table import NO_BAR, Row

MOST_BYTES, MOST_REQUESTS = 100_000, 6
PIN_P95_MS = 200.0
# The browser slows its own CPU down so much
SLOWED_BY, USABLE_MS = 6, 1000.0
CONSOLE_KIB, AGENT_KIB, FLAT_KIB = 45 * 1024, 1024, 2048


@dataclass(frozen=True)
class Found:
    """Measurements with the console at work."""

    page_bytes: int
    requests: int
    usable_ms: Sequence[float]
    pin_ms: Sequence[float]
    console_kib: int
    console_after_kib: int
    agent_kib: int
    left: int


@dataclass(frozen=True)
class Idle:
    """The agent's memory while no page is open."""

    without_kib: int
    with_kib: int


def rows(found: Found, idle: Idle, churned: str) -> Iterator[Row]:
    """Yield a row for each bar; `churned` says how many browsers came and went."""
    p95 = statistics.quantiles(found.pin_ms, n=20)[-1]
    median = f"median {statistics.median(found.pin_ms):.0f} ms"
    more, grown = idle.with_kib - idle.without_kib, found.console_after_kib - found.console_kib
    size, requests = found.page_bytes, found.requests
    yield _row("first page, cold cache: bytes", MOST_BYTES, size)
    yield _row("first page: requests, its stream among them", MOST_REQUESTS, requests)
    usable = statistics.median(found.usable_ms)
    yield Row(
        f"first page, CPU slowed {SLOWED_BY}x: usable, median of {len(found.usable_ms)}",
        f"<= {USABLE_MS:.0f} ms",
        f"{usable:.0f} ms",
        f"{min(found.usable_ms):.0f} to {max(found.usable_ms):.0f} ms",
        usable <= USABLE_MS,
    )
    yield Row(
        f"a pin changes -> its page, p95 of {len(found.pin_ms)}",
        f"<= {PIN_P95_MS:.0f} ms",
        f"{p95:.0f} ms",
        median,
        p95 <= PIN_P95_MS,
    )
    yield _memory("console: RSS with pages open", CONSOLE_KIB, found.console_kib)
    without = f"{idle.without_kib / 1024:.1f} MiB without"
    yield _memory("agent: RSS more with [console], idle", AGENT_KIB, more, without)
    yield _row(f"{churned}: left behind", 0, found.left)
    yield _memory("the same: console's RSS more than before", FLAT_KIB, grown)


def _row(what: str, bar: int, measured: int) -> Row:
    return Row(what, f"<= {bar}", str(measured), NO_BAR, measured <= bar)


def _memory(what: str, bar_kib: int, found_kib: int, baseline: str = NO_BAR) -> Row:
    bar, found = f"<= {bar_kib / 1024:.0f} MiB", f"{found_kib / 1024:.1f} MiB"
    return Row(what, bar, found, baseline, found_kib <= bar_kib)
