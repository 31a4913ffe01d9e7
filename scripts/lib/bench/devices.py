"""Two devices in network namespaces, cut off from one another again and again.

A cut is a cable that is pulled, or one of the two processes killed. Half of the cuts are made with
a broker between them, half with a connection of their own.
"""

import argparse
import collections
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.bench.devices_rig import SETTLED_S, Rig, lines, rig, why_not
from scripts.lib.bench.table import Row, show

CUTS = 1000
# From the question to the answer
_ACT_LASTS_S = 0.08
# Of ten cuts, how many pull the cable; the others kill a device
_PULLED = 9
_OVER = {"done": True, "never": False, "refused": False, "stale": False}
_SENTENCES = {"it was done": True, "it was not done": False}


@dataclass
class Tally:
    """Outcome of all cuts."""

    cuts: int = 0
    asked: int = 0
    acted: int = 0
    doubled: list[int] = field(default_factory=list)
    wordless: list[int] = field(default_factory=list)
    lies: list[int] = field(default_factory=list)
    unknown: int = 0

    def read(self, folder: Path) -> None:
        """Add what the two devices wrote down."""
        acts = collections.Counter(one[0] for one in lines(folder / "acts"))
        said = lines(folder / "said")
        asked = [one[1] for one in said if one[0] == "asked"]
        told = {number: [one[2] for one in said if one[:2] == ["told", number]] for number in asked}
        self.asked += len(asked)
        self.acted += len(acts)
        self.doubled += [number for number, count in acts.items() if count > 1]
        self.wordless += [number for number, words in told.items() if not words]
        for number, words in told.items():
            verdicts = {_verdict(one) for one in words}
            self.unknown += verdicts == {None}
            if (True in verdicts and not acts[number]) or (False in verdicts and acts[number]):
                self.lies.append(number)


def cut(cuts: int, seed: int = 1) -> Tally:
    """Return what came of so many cuts, half of them by each way."""
    chance, tally = random.Random(seed), Tally()  # noqa: S311 - which cut comes next
    for way, share in (("straight", cuts - cuts // 2), ("broker", cuts // 2)):
        with rig(way) as (made, folder):
            for _ in range(share):
                _one(made, chance)
                tally.cuts += 1
            if not made.settle():
                print(f"not settled within {SETTLED_S:g} s ({way})", file=sys.stderr)
            tally.read(folder)
    return tally


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    if reason := why_not():
        print(f"not run: {reason}", file=sys.stderr)
        return 1
    tally = cut(wanted.cuts, wanted.seed)
    rows = rows_of(tally)
    show(rows)
    return int(any(row.held is False for row in rows))


def rows_of(tally: Tally) -> list[Row]:
    """Return the table of a tally."""
    of = f"{tally.asked} acts asked, {tally.acted} done, {tally.cuts} cuts"
    return [
        Row("acts done twice", "0", str(len(tally.doubled)), of, not tally.doubled),
        Row("acts lost without a word", "0", str(len(tally.wordless)), of, not tally.wordless),
        Row("told otherwise than it was", "0", str(len(tally.lies)), of, not tally.lies),
        Row("told as unknown or interrupted", "-", str(tally.unknown), of, None),
        Row("acts done at all", "> 0", str(tally.acted), of, tally.acted > 0),
    ]


def _one(made: Rig, chance: random.Random) -> None:
    made.catch()
    time.sleep(chance.uniform(0.0, _ACT_LASTS_S))
    if chance.randrange(10) < _PULLED:
        made.pull(chance.uniform(0.02, 0.3))
    else:
        made.kill(chance.choice(("garden", "kitchen")))


def _verdict(told: str) -> bool | None:
    if told in _OVER:
        return _OVER[told]
    return next((meant for said, meant in _SENTENCES.items() if f"now: {said}" in told), None)
