"""The suite for boards, as a person with one runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.board_sim import unavailable_reason

ROOT = Path(__file__).parents[2]
# Whole runs of their own, on a machine that does much else
pytestmark = pytest.mark.timeout(400)


def said_by(*words: str) -> str:
    if reason := unavailable_reason():
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_soak_takes_longer_than_a_test_may() -> None:
    said = said_by("--timeout=5", "hardware-tests/test_soak.py", "--soak=6")
    # Where much else is done, the board's clock may be told to be off
    assert "Timeout" not in said, said
    assert "soak: " in said, said


@pytest.mark.parametrize("pair", ["led,d99", "led", "led,"])
def test_a_pin_that_is_none_is_told_with_those_that_are(pair: str) -> None:
    said = said_by("hardware-tests/test_jumpers.py", "-k", "both_levels", f"--loopback={pair}")
    assert f"--loopback {pair}: say OUT,IN, with OUT one of led, " in said, said
    assert "KeyError" not in said, said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--tester", "/dev/null", "--across", "d2,d4"], "--tester needs --port"),
        (["--across", "d2,d4"], "--across needs --port"),
        (["--port", "/dev/null", "--across", "d2,d4"], "--across needs --tester"),
        (["--port", "/dev/null", "--tester", "/dev/zero"], "--tester needs --across"),
        (["--port", "/dev/null", "--tester", "/dev/null", "--across", "d2,d4"], "the same port"),
        (["--port", "/dev/no-board"], "there is no port /dev/no-board"),
        (["--port", "/tmp"], "/tmp is no port"),
    ],
)
def test_a_bench_that_cannot_be_is_told_before_anything_runs(
    options: list[str], sentence: str
) -> None:
    """A simulated board in place of the one that was meant would have passed."""
    said = said_by("hardware-tests/test_bench.py", *options)
    assert sentence in said, said
    assert "passed" not in said
    assert "Traceback" not in said
