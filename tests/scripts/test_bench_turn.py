import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lib.bench import turn
from scripts.lib.bench.speaker import Pair, Taken

_ROOT = Path(__file__).resolve().parents[2]


def made_of(pairs: list[Pair]) -> Taken:
    return Taken("no tool", first_request_bytes=4_000, pairs=pairs)


def taken(turn_s: float, bare_s: float = 0.001, *, count: int = 200) -> Taken:
    return made_of([Pair(turn_s, bare_s)] * count)


@pytest.mark.parametrize(("turn_s", "held"), [(0.0029, [True, True]), (0.0031, [False, True])])
def test_a_turn_is_judged_by_the_bare_requests_beside_it(turn_s: float, held: list[bool]) -> None:
    assert [row.held for row in turn._rows(taken(turn_s))] == held


def test_rare_slow_turns_are_judged_wherever_they_were() -> None:
    slow = taken(0.002)
    slow.pairs[-5:] = [Pair(0.006, 0.002)] * 5
    assert [row.held for row in turn._rows(slow)] == [True, True]
    slow.pairs[-5:] = [Pair(0.011, 0.002)] * 5
    assert [row.held for row in turn._rows(slow)] == [True, False]


def test_the_median_is_of_the_blocks_in_which_nothing_bare_was_slow() -> None:
    disturbed = taken(0.02, 0.01, count=150)
    quiet = taken(0.004, 0.001, count=50)
    both = made_of([*disturbed.pairs, *quiet.pairs])
    assert next(turn._rows(both)).held is False
    waited = made_of([Pair(0.004, 0.001, hop_s=0.003)] * 150)
    calm = made_of([Pair(0.002, 0.001)] * 50)
    assert next(turn._rows(made_of([*waited.pairs, *calm.pairs]))).held is True


def test_memory_that_grows_with_the_turns_misses_its_bar() -> None:
    flat, growing = taken(0.002), taken(0.002)
    flat.rss_bytes = [40_000_000 + 10_000 * (number % 3) for number in range(100)]
    growing.rss_bytes = [40_000_000 + 100_000 * number for number in range(100)]
    assert turn._growth([flat]).held is True
    assert turn._growth([growing]).held is False


def test_the_whole_agent_is_measured() -> None:
    command = [sys.executable, "scripts/lib", "bench.turn", "--turns", "4"]
    ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    # The bars are not for a machine that runs other tests
    assert ended.returncode in {0, 1}, ended.stderr
    for row in ("no tool, p50", "one tool, p99", "memory after 4 turns", "bytes to storage"):
        assert row in ended.stdout
