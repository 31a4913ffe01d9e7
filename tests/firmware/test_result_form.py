"""The form in which somebody with a board sends the result of hardware-tests."""

import re
import subprocess
import sys

import pytest

from firmware.host.result_form import Measurement, TrialOutcome, TriedBoard, form
from tests.fakes.board_sim import ROOT, unavailable_reason

BOARD = TriedBoard("pyboard-v11", "1.2.3", 7, "/dev/ttyACM0")


def test_what_failed_comes_first_with_its_reason_in_one_line() -> None:
    outcomes = (
        TrialOutcome("test_greets", "passed"),
        TrialOutcome("test_wire", "skipped", "the rig has no wire"),
        TrialOutcome("test_lease", "failed", "assert 2100 <= 2050\n | late"),
    )
    text = form(BOARD, outcomes, {"loopback": "d2,d4", "soak": ""})
    assert "* board: pyboard-v11, firmware 1.2.3 (build 7)" in text
    assert "* loopback: d2,d4" in text
    assert "soak" not in text
    assert "* 1 failed, 0 error, 1 skipped, 1 passed" in text
    rows = [line for line in text.splitlines() if line.startswith("| test_")]
    assert rows == [
        "| test_lease | failed | assert 2100 <= 2050 \\| late |",
        "| test_wire | skipped | the rig has no wire |",
        "| test_greets | passed |  |",
    ]


def test_what_a_second_board_measured_stands_below() -> None:
    measured = (Measurement("lease of pump", 2001.4, "<= 2060"),)
    assert "| lease of pump | 2001 | <= 2060 |" in form(None, (), {}, measured)
    assert "second board" not in form(None, (), {})


def test_a_board_that_never_answered_is_told_too() -> None:
    assert "* board: none answered" in form(None, (), {})


# A whole run of its own, on a machine that does much else
@pytest.mark.timeout(400)
def test_a_run_prints_it_last() -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--form"]
    files = ["hardware-tests/test_board.py", "hardware-tests/test_bench.py"]
    names = [*files, "-k", "greets or (test_bench and lease_ends)"]
    done = subprocess.run(
        [*command, *names], cwd=ROOT, capture_output=True, text=True, timeout=360, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout[done.stdout.index("## Result of hardware-tests") :]
    assert "* board: simulated, firmware " in told
    assert "* 0 failed, 0 error, 0 skipped, 2 passed" in told
    assert "| test_the_board_greets | passed |  |" in told
    # Two simulated boards, one of which measures the other
    assert re.search(r"^\| lease of pump \| \d{4} \| <= \d{4} \|$", told, re.MULTILINE), told
    assert "Please fill in:" in told
