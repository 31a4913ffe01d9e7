"""What reflexes take of a pass, on the cost model of the board."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from firmware.host import interpreter
from firmware.host.bundle import FIRMWARE, FRAME
from tests.fakes.board_sim import unavailable_reason
from tests.firmware.garden import ABOVE, BELOW, SOIL, TANK, rule

# Stuffing a byte in plain Python on an STM32F4 at 62.5 MIPS: 2324 us for 240 bytes, 366 for 16
BYTE_ON_BOARD_US = (2324 - 366) / (240 - 16)
PASS_LIMIT_US = 2000


def test_sixteen_reflexes_take_less_than_two_milliseconds_of_a_pass() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    # Both conditions are looked at, and the rule would act if its interval allowed it
    worst = rule((SOIL, BELOW, 900, 10), (TANK, ABOVE, 100, 10), held_ms=3_600_000, every_s=60)
    said = subprocess.run(
        [*interpreter.find(), "-c", f"import reflex_cost; reflex_cost.main({worst!r})"],
        env={**os.environ, "MICROPYPATH": f"{FIRMWARE}:{FRAME.parent}:{Path(__file__).parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(said.stdout)
    ratio = measured["pass_us"] / measured["byte_us"]
    assert ratio * BYTE_ON_BOARD_US < PASS_LIMIT_US, measured
