import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link.counters import KEPT_ROUND_TRIPS, Counters, RoundTrips


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
