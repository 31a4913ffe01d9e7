import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link.counters import KEPT_ROUND_TRIPS, Counters, DeviceClock, RoundTrips


def test_nothing_was_measured_yet() -> None:
    assert RoundTrips().percentile_ms(0.5) is None


def test_percentiles_are_times_that_were_measured() -> None:
    trips = RoundTrips()
    for number in range(1, 101):
        trips.add(number / 1000)
    assert trips.percentile_ms(0.5) == 51
    assert trips.percentile_ms(0.99) == 100


@given(st.lists(st.floats(0, 10), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_between_the_shortest_and_the_longest(
    times_s: list[float], share: float
) -> None:
    trips = RoundTrips()
    for time_s in times_s:
        trips.add(time_s)
    found_ms = trips.percentile_ms(share)
    assert found_ms is not None
    assert min(times_s) * 1000 - 1 <= found_ms <= max(times_s) * 1000 + 1


def test_only_the_latest_are_kept() -> None:
    trips = RoundTrips()
    for time_s in [1.0, *[0.001] * KEPT_ROUND_TRIPS]:
        trips.add(time_s)
    assert trips.percentile_ms(1.0) == pytest.approx(1)


def test_every_session_has_its_own() -> None:
    Counters().round_trips.add(1.0)
    assert Counters().round_trips.percentile_ms(0.5) is None


def test_a_line_is_told_in_numbers_and_in_words() -> None:
    counters = Counters(frames_sent=10, frames_received=9, frames_resent=2, crc_errors=1)
    assert counters.in_words() == "19 frames, 2 sent again, 1 damaged"
    assert counters.as_numbers() == {
        "baud": None,
        "frames": 19,
        "retries": 2,
        "crc_errors": 1,
        "rtt_p50_ms": None,
        "rtt_p99_ms": None,
        "clock_offset_s": None,
        "clock_drift_ppm": None,
    }
    counters.round_trips.add(0.0015)
    assert counters.in_words().endswith(", round trip 1.5 ms (99 %: 1.5 ms)")


def test_the_rate_of_the_line_is_named() -> None:
    counters = Counters(baud=921_600)
    assert counters.as_numbers()["baud"] == 921_600
    assert counters.in_words() == "0 frames, 0 sent again, 0 damaged, 921600 baud"


def test_the_clock_of_the_board_is_told_once_it_is_known() -> None:
    counters = Counters()
    counters.clock.note(100.0, 100.002, 60_000)
    told = counters.as_numbers()
    assert (told["clock_offset_s"], told["clock_drift_ppm"]) == (40.001, 0.0)


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
