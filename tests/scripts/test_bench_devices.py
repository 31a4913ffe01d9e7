"""The benchmark of two devices: a few cuts in namespaces, and what its table calls missed."""

import json
from pathlib import Path

import pytest

from scripts.lib.bench import devices


def test_a_few_cuts_double_nothing_and_lose_nothing() -> None:
    if reason := devices.why_not():
        pytest.skip(reason)
    tally = devices.cut(8)
    assert tally.acted > 0
    assert (tally.doubled, tally.wordless, tally.lies) == ([], [], [])


def test_what_went_wrong_is_seen(tmp_path: Path) -> None:
    said = [["asked", number] for number in range(1, 6)]
    said += [["told", 1, "done"], ["told", 2, "never"], ["told", 3, "done"]]
    said += [["told", 5, "garden was to number 5, now: nobody knows whether it was done: look"]]
    (tmp_path / "said").write_text("".join(f"{json.dumps(one)}\n" for one in said))
    (tmp_path / "acts").write_text("[1]\n[1]\n[2]\n[5]\n")
    tally = devices.Tally(cuts=1)
    tally.read(tmp_path)
    assert (tally.doubled, tally.wordless, tally.lies, tally.unknown) == ([1], [4], [2, 3], 1)
    verdicts = [row.held for row in devices.rows_of(tally)]
    assert verdicts == [False, False, False, None, True]
