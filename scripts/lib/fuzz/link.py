"""Throws frames at the real firmware and chaos at the agent's session."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from scripts.lib.bench.boards import one_board
from scripts.lib.fuzz.campaign import campaign
from scripts.lib.fuzz.findings import Findings
from scripts.lib.fuzz.lossy_line import LossyLine

FRAMES = 1_000_000
# Two processes for each: what a small machine has
_BOARDS = 2
_EXAMPLES = 2_000
_STEPS = 80
_TOLD_EVERY = 10_000


def main(arguments: Sequence[str]) -> int:
    """Fuzz, print what was found; 1 when a pin moved or the firmware faltered."""
    given = _parser().parse_args(arguments)
    began_s = time.monotonic()
    found = run(given.frames, given.seed)
    taken_s = time.monotonic() - began_s
    print(f"{sentence(found)}; seed {given.seed}, {taken_s:.0f} s")
    return 0 if lossy_line(given.examples) and found.is_clean else 1


def run(frames: int, seed: int, boards: int = _BOARDS) -> Findings:
    """That many frames, shared by boards that work side by side."""
    shares = [(frames // boards, seed * boards + number) for number in range(boards)]
    total = Findings()
    with multiprocessing.get_context("spawn").Pool(boards) as pool:
        for found in pool.starmap(_share, shares):
            total.add(found)
    return total


def sentence(found: Findings) -> str:
    """Return the findings of a campaign as a sentence."""
    return (
        f"{found.frames:,} frames in {found.sessions:,} sessions: the board took {found.accepted:,}"
        f" and dropped {found.dropped:,} pieces, ran {found.writes_ran:,} of"
        f" {found.writes_sent:,} sound writes, {found.changes:,} pin changes by them;"
        f" {found.updates_ran:,} requests of updates, {found.reflexes_ran:,} of rules, which moved"
        f" their own pin {found.ruled:,} times;"
        f" unintended {found.unintended}, faults {found.faults}, silences {found.silences};"
        f" half a second unheard {found.unheard}"
    )


def lossy_line(examples: int) -> bool:
    """Run the agent's session over so many lossy lines; return true if it keeps its promises."""
    began_s = time.monotonic()
    wanted = settings(
        max_examples=examples,
        stateful_step_count=_STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    try:
        run_state_machine_as_test(LossyLine, settings=wanted)
    except AssertionError as failure:
        print(f"the agent's session over a lossy line: FAILED: {failure}")
        return False
    taken_s = time.monotonic() - began_s
    print(f"the agent's session over a lossy line: {examples:,} lives, 0 failed, {taken_s:.0f} s")
    return True


def _share(frames: int, seed: int) -> Findings:
    with one_board() as board:
        return campaign(board, frames, seed, _told)


def _told(frames: int) -> None:
    if frames % _TOLD_EVERY == 0 and sys.stderr.isatty():
        print(f"\r{frames:,} frames per board", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fuzz-link", description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES, help=f"default {FRAMES:,}")
    parser.add_argument("--seed", type=int, default=1, help="the same frames again")
    parser.add_argument(
        "--examples", type=int, default=_EXAMPLES, help="lives of the agent's session"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
