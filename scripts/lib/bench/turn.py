"""Measures what the agent adds to a turn, against bare requests with the same bodies.

Turns and bare requests take turns, one by one, in one event loop and to one server. Other programs
disturb both: medians are of the blocks in which no bare request and no empty job of a thread was
slow. The bars are for what the agent does, with its files in memory; what the flushes of a disk add
to it is told beside them.
"""

import argparse
import asyncio
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.lib.bench.speaker import Pair, Taken, measured
from scripts.lib.bench.table import Row, show

MEDIAN_BUDGET = 3.0
WORST_BUDGET = 5.0
# More than an allocator breathes, less than a kilobyte a turn
GROWTH_BUDGET_MB = 4.0
TURNS, QUICK_TURNS = 5_000, 400
# On disk, where nothing is judged
DISK_TURNS, QUICK_DISK_TURNS = 600, 100
_ASKED = {"no tool": "Is everything all right with the lamp?", "one tool": "Ask the tool, please."}
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder itself; what is made in it has its own name
_BLOCK = 10
# Of all blocks, those that were disturbed least: no bare request, no empty job of theirs was slow
_COUNTED_SHARE = 1 / 4
_TENTH = 10
_MB = 1024 * 1024


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    turns = QUICK_TURNS if given.quick else given.turns
    on_disk = QUICK_DISK_TURNS if given.quick else min(given.turns, DISK_TURNS)
    print("files in memory ...", flush=True)
    found = asyncio.run(measured(_ASKED, turns // len(_ASKED), _IN_MEMORY))
    print("files on disk ...", flush=True)
    told = asyncio.run(measured(_ASKED, on_disk // len(_ASKED), None))
    judged = [*(row for taken in found for row in _rows(taken)), _growth(found)]
    print()
    show([*judged, *(row for taken in told for row in _told(taken))])
    return 0 if all(row.held for row in judged) else 1


def _rows(taken: Taken) -> Iterator[Row]:
    best = _least_disturbed(taken.pairs)
    # The rare slow ones are not found by looking where it was quiet
    for name, share, budget, pairs in (
        ("p50", 0.5, MEDIAN_BUDGET, best),
        ("p99", 0.99, WORST_BUDGET, taken.pairs),
    ):
        turn_s, bare_s = _quantiles(pairs, share)
        yield Row(
            f"a turn with {taken.kind}, {name}",
            f"<= {budget:g}x bare requests",
            f"{turn_s / bare_s:.2f}x ({turn_s * 1e3:.2f} ms; {len(pairs):,} of "
            f"{len(taken.pairs):,} turns)",
            f"{bare_s * 1e3:.2f} ms (same bodies, server and loop, in turns)",
            turn_s / bare_s <= budget,
        )


def _growth(found: Sequence[Taken]) -> Row:
    seen = [rss for taken in found for rss in taken.rss_bytes]
    tenth = max(1, len(seen) // _TENTH)
    # What is kept for good is there after the first tenth
    begin, end = statistics.median(seen[:tenth]), statistics.median(seen[-tenth:])
    grown_mb = (end - begin) / _MB
    return Row(
        f"memory after {sum(len(taken.pairs) for taken in found):,} turns",
        f"<= {GROWTH_BUDGET_MB:g} MB more",
        f"{grown_mb:+.1f} MB ({end / _MB:.1f} MB)",
        f"{begin / _MB:.1f} MB in the first tenth",
        grown_mb <= GROWTH_BUDGET_MB,
    )


def _told(taken: Taken) -> Iterator[Row]:
    """Told, not judged: the disk is not ours."""
    turn_s, bare_s = _quantiles(taken.pairs, 0.5)
    flush_s = statistics.median(taken.flush_s)
    yield Row(
        f"the same on this disk, {taken.kind}, p50",
        "-",
        f"{turn_s / bare_s:.2f}x ({turn_s * 1e3:.2f} ms)",
        f"{bare_s * 1e3:.2f} ms; one flush takes {flush_s * 1e3:.2f} ms",
        None,
    )
    yield Row(
        f"sizes of a turn with {taken.kind}",
        "-",
        f"{taken.stored_bytes:,.0f} bytes to storage",
        f"{taken.first_request_bytes:,} bytes in the first request",
        None,
    )


def _least_disturbed(pairs: Sequence[Pair]) -> list[Pair]:
    blocks = [pairs[at : at + _BLOCK] for at in range(0, len(pairs), _BLOCK)]
    blocks.sort(key=lambda block: max(pair.bare_s + pair.hop_s for pair in block))
    best = blocks[: math.ceil(len(blocks) * _COUNTED_SHARE)]
    return [pair for block in best for pair in block]


def _quantiles(pairs: Sequence[Pair], share: float) -> tuple[float, float]:
    place = min(len(pairs) - 1, int(len(pairs) * share))
    turns_s = sorted(pair.turn_s for pair in pairs)
    return turns_s[place], sorted(pair.bare_s for pair in pairs)[place]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-turn", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TURNS} turns, in seconds")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"default {TURNS:,}")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
