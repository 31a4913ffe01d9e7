"""Tests wait for conditions, and the rule that says so can fail."""

from pathlib import Path

import pytest

from tests.structure.sleeps import ALLOWED, violations

# Where waits began to be for conditions there were 361
MOST = 39


def test_tests_wait_for_conditions() -> None:
    assert "\n".join(violations()) == ""


def test_the_allowance_only_goes_down() -> None:
    assert sum(ALLOWED.values()) <= MOST


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasync def test_x():\n    await asyncio.sleep(0.1)\n",
        "import time\ndef test_x():\n    time.sleep(LONG_S)\n",
        "from time import sleep as nap\ndef test_x():\n    nap(1)\n",
    ],
)
def test_a_new_sleep_is_named(tmp_path: Path, source: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(source)
    [problem] = violations({}, tmp_path)
    assert problem == "tests/test_x.py: 1 sleeps, 0 allowed: see tests/waits.py"


def test_an_allowance_that_is_not_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import asyncio\nasync def test_x():\n    await asyncio.sleep(0)\n"
    )
    [problem] = violations({"tests/test_x.py": 1}, tmp_path)
    assert "lower its number" in problem
