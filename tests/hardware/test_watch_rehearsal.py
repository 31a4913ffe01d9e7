"""A rehearsed watch tells when one at work does, with the board's firmware in MicroPython."""

from pathlib import Path

import pytest

from scripts.lib.bench.watch_cases import events_of_board, random_watch, rehearsed
from scripts.lib.bench.watch_live import told_live
from tests.fakes.board_sim import unavailable_reason

# The benchmark looks at more, and longer
SEEDS, LENGTH_S = range(4), 1000


async def test_a_watch_tells_as_one_at_work_does(tmp_path: Path) -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    cases = [random_watch(seed, LENGTH_S) for seed in SEEDS]
    live = []
    for number, seen in enumerate(events_of_board(cases)):
        folder = tmp_path / str(number)
        folder.mkdir()
        live.append(await told_live(cases[number], seen["events"], folder))
    assert [await rehearsed(case) for case in cases] == live
    assert sum(map(len, live))
