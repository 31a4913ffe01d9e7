import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link.device_clock import DeviceClock

BOOT_S = 1000.0


def clock_after(
    duration_s: float, *, rate: float = 1.0, jitter_s: float = 0.0, from_ms: int = 0
) -> DeviceClock:
    """A clock that was asked every 0.3 s, with answers that are late by chance one way only."""
    chance = random.Random(3)
    clock = DeviceClock()
    at_s = 0.0
    while at_s < duration_s:
        late_s = chance.expovariate(1 / jitter_s) if jitter_s else 0.0
        device_ms = int(at_s / rate * 1000) + from_ms
        sent_s = BOOT_S + at_s - 0.001
        clock.note(sent_s, BOOT_S + at_s + 0.001 + late_s, device_ms % 2**32)
        at_s += 0.3
    return clock


def test_nothing_is_known_before_the_first_answer() -> None:
    assert not DeviceClock().is_set


def test_one_answer_sets_it() -> None:
    clock = DeviceClock()
    clock.note(10.0, 10.01, 5000)
    assert clock.is_set
    assert clock.ours_s(5000) == pytest.approx(10.005)
    assert clock.ours_s(6000) == pytest.approx(11.005)


def test_a_slow_answer_does_not_count_beside_a_quick_one() -> None:
    clock = DeviceClock()
    clock.note(10.0, 10.002, 5000)
    clock.note(10.5, 11.5, 5500)
    assert clock.ours_s(5000) == pytest.approx(10.001)


def test_a_drift_is_learned_through_late_answers() -> None:
    clock = clock_after(120, rate=1.0001, jitter_s=0.01)
    assert clock.drift_ppm == pytest.approx(100, abs=30)
    assert clock.ours_s(100_000) == pytest.approx(BOOT_S + 100.01, abs=0.003)
    assert clock.offset_s == pytest.approx(BOOT_S, abs=0.005)


def test_no_drift_is_made_up_in_the_first_seconds() -> None:
    assert clock_after(5, rate=1.0001, jitter_s=0.02).drift_ppm == 0


def test_a_clock_that_is_mad_is_not_followed() -> None:
    assert abs(clock_after(60, rate=2.0).drift_ppm) <= 20_001


def test_the_end_of_the_counter_is_no_jump() -> None:
    clock = clock_after(60, from_ms=2**32 - 30_000)
    assert clock.ours_s(10_000) == pytest.approx(BOOT_S + 40, abs=0.01)
    assert clock.ours_s(2**32 - 10_000) == pytest.approx(BOOT_S + 20, abs=0.01)


def test_a_clock_that_stands_still_is_no_reason_to_stumble() -> None:
    clock = DeviceClock()
    for second in range(60):
        clock.note(second, second + 0.002, 7)
    assert clock.drift_ppm == 0


@given(
    st.lists(st.tuples(st.floats(0, 60), st.floats(0, 9), st.integers(0, 2**32 - 1)), max_size=40)
)
def test_whatever_a_board_says_of_its_clock_a_time_comes_out(
    told: list[tuple[float, float, int]],
) -> None:
    clock = DeviceClock()
    now_s = 0.0
    for passed_s, round_trip_s, device_ms in told:
        now_s += passed_s
        clock.note(now_s, now_s + round_trip_s, device_ms)
        assert math.isfinite(clock.ours_s(device_ms))
        assert abs(clock.drift_ppm) <= 20_001
