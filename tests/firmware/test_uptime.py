"""firmware/node/uptime.py under CPython, over more days than a test can wait."""

from typing import Any

import pytest

from agent.readings.rule_program import TICKS_PERIOD, ticks_add
from tests.firmware.node_on_cpython import node_module

DAY_MS = 24 * 3600 * 1000

with node_module("uptime") as loaded:
    UPTIME = loaded


class Counter:
    """The board's millisecond counter, which goes around."""

    def __init__(self) -> None:
        self.ticks = TICKS_PERIOD - 5000

    def pass_ms(self, duration_ms: int) -> int:
        self.ticks = ticks_add(self.ticks, duration_ms)
        return self.ticks


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    made = Counter()
    monkeypatch.setattr(UPTIME, "ticks_ms", lambda: made.ticks)
    return made


def test_it_counts_across_the_end_of_the_counter(counter: Counter) -> None:
    uptime: Any = UPTIME.Uptime()
    assert uptime.milliseconds(counter.pass_ms(4_999)) == 4_999
    assert uptime.milliseconds(counter.pass_ms(2)) == 5_001


def test_it_counts_for_longer_than_the_counter(counter: Counter) -> None:
    uptime: Any = UPTIME.Uptime()
    for _ in range(8):
        uptime.advance(counter.pass_ms(5 * DAY_MS))
    assert uptime.milliseconds(counter.pass_ms(1)) == 40 * DAY_MS + 1


def test_it_fits_the_field_of_a_frame(counter: Counter) -> None:
    uptime: Any = UPTIME.Uptime()
    for _ in range(10):
        uptime.advance(counter.pass_ms(5 * DAY_MS))
    assert uptime.milliseconds(counter.ticks) == 50 * DAY_MS - 2**32
