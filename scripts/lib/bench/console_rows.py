"""Rows of the table of the console's bench."""

import statistics
from collections.abc import Iterator, Sequence

from msgspec import Struct

from scripts.lib.bench.console_crowd import Crowd
from scripts.lib.bench.table import NO_BAR, Row

MOST_BYTES, MOST_REQUESTS = 100_000, 6
PIN_P95_MS = 200.0
# The browser slows its own CPU down so much
SLOWED_BY, USABLE_MS = 6, 1000.0
CONSOLE_KIB, AGENT_KIB, FLAT_KIB = 45 * 1024, 1024, 2048
MOST_EXPOSED = 1.2


class Found(Struct, frozen=True):
    """Measurements with the console at work.

    Args:
        closed_kib: memory of a console ten minutes after its last page; None where not measured.
    """

    page_bytes: int
    requests: int
    usable_ms: Sequence[float]
    pin_ms: Sequence[float]
    crowd: Crowd
    closed_kib: int | None


class Idle(Struct, frozen=True):
    """The agent's memory while no page is open."""

    without_kib: int
    with_kib: int


class Wall(Struct, frozen=True):
    """Hostile requests and those that got through, grave findings of axe-core, systemd's figure."""

    requests: int
    through: int
    findings: int
    exposure: float | None


def rows(found: Found, idle: Idle, wall: Wall, churned: str) -> Iterator[Row]:
    """Yield a row for each bar; `churned` says how many browsers came and went."""
    yield _row("first page, cold cache: bytes", MOST_BYTES, found.page_bytes)
    yield _row("first page: requests, its stream among them", MOST_REQUESTS, found.requests)
    yield from _times(found)
    yield from _memories(found, idle, churned)
    yield _row(f"{wall.requests} hostile requests: through", 0, wall.through)
    yield _row("axe-core, every page, light and dark: serious or critical", 0, wall.findings)
    exposed = wall.exposure
    yield Row(
        "systemd-analyze security barnacle-console",
        f"<= {MOST_EXPOSED}",
        NO_BAR if exposed is None else str(exposed),
        NO_BAR,
        None if exposed is None else exposed <= MOST_EXPOSED,
    )


def _times(found: Found) -> Iterator[Row]:
    usable = statistics.median(found.usable_ms)
    yield Row(
        f"first page, CPU slowed {SLOWED_BY}x: usable, median of {len(found.usable_ms)}",
        f"<= {USABLE_MS:.0f} ms",
        f"{usable:.0f} ms",
        f"{min(found.usable_ms):.0f} to {max(found.usable_ms):.0f} ms",
        usable <= USABLE_MS,
    )
    p95 = statistics.quantiles(found.pin_ms, n=20)[-1]
    yield Row(
        f"a pin changes -> its page, p95 of {len(found.pin_ms)}",
        f"<= {PIN_P95_MS:.0f} ms",
        f"{p95:.0f} ms",
        f"median {statistics.median(found.pin_ms):.0f} ms",
        p95 <= PIN_P95_MS,
    )


def _memories(found: Found, idle: Idle, churned: str) -> Iterator[Row]:
    crowd = found.crowd
    yield _memory("console: RSS with pages open, at most", CONSOLE_KIB, max(crowd.looks_kib))
    if found.closed_kib is not None:
        yield _memory("console: RSS ten minutes after its last page", 0, found.closed_kib)
    more, without = idle.with_kib - idle.without_kib, f"{idle.without_kib / 1024:.1f} MiB without"
    yield _memory("agent: RSS more with [console], idle", AGENT_KIB, more, without)
    yield Row(
        f"{churned}, {crowd.visits} visits: left behind",
        "<= 0",
        ", ".join(f"{count} {kind}" for kind, count in crowd.left.items()) or "0",
        f"{crowd.refused} put off",
        not crowd.left,
    )
    looks = ", ".join(f"{kib / 1024:.1f}" for kib in crowd.looks_kib)
    yield _memory("the same: console's RSS more than before", FLAT_KIB, crowd.more_kib, looks)


def _row(what: str, bar: int, measured: int) -> Row:
    return Row(what, f"<= {bar}", str(measured), NO_BAR, measured <= bar)


def _memory(what: str, bar_kib: int, found_kib: int, baseline: str = NO_BAR) -> Row:
    bar, found = f"<= {bar_kib / 1024:.0f} MiB", f"{found_kib / 1024:.1f} MiB"
    return Row(what, bar, found, baseline, found_kib <= bar_kib)
