"""Starts two images in QEMU in turns, and prints what the second takes beside the first."""

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import missing_programs
from image.lib.layout import MIB
from scripts.lib.progress import say

# A first start divides the card; what a device does every day is the second one
_FIRST = 1
# What is started last has ended then, and the agent's first minute of work
_SETTLE_S = 60.0
_BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class Taken:
    """Costs of a card and of one start of it, by what they are called in the table."""

    started_s: float
    ready_s: float
    used_mib: float
    agent_mib: float


_ROWS = {
    "started_s": "power to everything started, s",
    "ready_s": "kernel to the agent ready, s",
    "used_mib": "memory in use after boot, MiB",
    "agent_mib": "the agent's group, MiB",
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="image/compare", description=__doc__)
    parser.add_argument("before", type=Path, help="an image, such as one of the commit before")
    parser.add_argument("after", type=Path, help="the other image")
    parser.add_argument("--starts", type=int, default=3, help="of each, in turns (usually 3)")
    given = parser.parse_args(arguments)
    if missing := missing_programs():
        say(f"packages are missing: apt-get install {' '.join(missing)}")
        return 2
    images = (given.before, given.after)
    if lost := [image for image in images if not image.exists()]:
        say(f"there is no {lost[0]}: image/build makes it")
        return 2
    taken: dict[Path, list[Taken]] = {image: [] for image in images}
    with ExitStack() as stack:
        benches = {image: stack.enter_context(Bench(image)) for image in images}
        for number in range(_FIRST + given.starts):
            for image, bench in benches.items():
                found = _started(bench)
                say(f"{image}, start {number + 1}: {found}")
                if number >= _FIRST:
                    taken[image].append(found)
    _print(taken)
    return 0


def _started(bench: Bench) -> Taken:
    """Return the costs of one start, which ends as a person's tap on the power button ends it."""
    started_s, shell = bench.start(), bench.shell
    bench.with_board()
    time.sleep(_SETTLE_S)
    ready_us = int(shell.run("systemctl show -P ActiveEnterTimestampMonotonic barnacle.service"))
    _, used_mib = shell.memory_mib()
    group_bytes = int(shell.run("systemctl show -P MemoryCurrent barnacle.service"))
    shell.send("poweroff")
    bench.guest.wait_for_end(START_S)
    bench.stop()
    return Taken(started_s, ready_us / 1e6, used_mib, group_bytes / MIB)


def _print(taken: dict[Path, list[Taken]]) -> None:
    """Print medians, and what the second image takes of the first one's."""
    before, after = taken
    print(f"{'':34} {'before':>8} {'after':>8}  ratio")
    sizes = [image.stat().st_blocks * _BLOCK_BYTES / MIB for image in taken]
    rows = {"on the card, not empty, MiB": sizes}
    for name, title in _ROWS.items():
        rows[title] = [
            statistics.median(getattr(one, name) for one in taken[image])
            for image in (before, after)
        ]
    for title, (first, second) in rows.items():
        print(f"{title:34} {first:8.1f} {second:8.1f}  {second / first:5.2f}")
    starts = len(taken[before])
    print(f"{starts} starts of each, in turns; medians. The first start is not counted.")
