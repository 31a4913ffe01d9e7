"""Measures the link against its bars and prints one table.

Every row has its own file beside this one.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scripts.lib.bench import cuts, deadman, flips, heap, mangled, roundtrip, started, throughput
from scripts.lib.bench.table import Row, show
from scripts.lib.fuzz import link as fuzz


@dataclass(frozen=True, slots=True)
class Extent:
    """Number of trials of each measure."""

    commands: int
    trials: int
    calls: int
    resets: int
    line_s: float
    requests: int
    frames: int


WHOLE = Extent(500, 1_000, 5_000, 10, 20.0, 100_000, fuzz.FRAMES)
QUICK = Extent(60, 16, 1_000, 3, 4.0, 5_000, 20_000)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    if given.deadman is not None:
        rows = [_measured("safe state", lambda: deadman.measure(given.deadman, given.seed))]
    else:
        rows = _all(QUICK if given.quick else WHOLE, given.frames, given.seed, quick=given.quick)
    print()
    show(rows)
    return 0 if all(row.held for row in rows) else 1


def _all(extent: Extent, frames: int | None, seed: int, *, quick: bool) -> list[Row]:
    # The safe state first: it forks, and a process is best forked before it has had threads
    parts: list[tuple[str, Callable[[], Row]]] = [
        ("safe state", lambda: deadman.measure(extent.trials, seed)),
        ("flips", lambda: flips.measure(quick=quick)),
        ("bad lines", lambda: mangled.measure(extent.commands)),
        ("cuts", lambda: cuts.measure(quick=quick)),
        ("round trip", lambda: roundtrip.measure(extent.calls)),
        ("start", lambda: started.measure(extent.resets)),
        ("throughput", lambda: throughput.measure(extent.line_s)),
        ("heap", lambda: heap.measure(extent.requests)),
        ("fuzz", lambda: _fuzz(frames or extent.frames, seed)),
    ]
    return [_measured(name, measure) for name, measure in parts]


def _measured(name: str, measure: Callable[[], Row]) -> Row:
    print(f"{name} ...", flush=True)
    began_s = time.monotonic()
    row = measure()
    print(f"{name}: {time.monotonic() - began_s:.0f} s", flush=True)
    return row


def _fuzz(frames: int, seed: int) -> Row:
    found = fuzz.run(frames, seed)
    print(f"  {fuzz.sentence(found)}")
    crashes = found.faults + found.silences
    return Row(
        f"fuzz, {found.frames:,} random and mutated frames",
        "0 unintended pin changes, 0 crashes",
        f"{found.unintended} unintended, {crashes} crashes",
        f"{found.writes_ran:,} sound writes among them ran, {found.changes:,} pin changes",
        found.is_clean and found.writes_ran > 0,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-link", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything, in a minute")
    parser.add_argument("--deadman", type=int, metavar="N", help="only N trials of the safe state")
    parser.add_argument("--frames", type=int, help=f"fuzz with so many; default {fuzz.FRAMES:,}")
    parser.add_argument("--seed", type=int, default=1, help="other moments and frames")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
