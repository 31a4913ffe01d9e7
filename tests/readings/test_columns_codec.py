from hypothesis import given
from hypothesis import strategies as st

from agent.readings.columns import (
    Columns,
    in_buckets,
    of_values,
    pack_buckets,
    pack_values,
    unpack_buckets,
    unpack_values,
)

# A day of a thermometer with tenths of a degree, and the most that its chunk may take
DAY_S, MOST_BYTES = 86_400, 1440
MINUTE_MS, QUARTER_MS = 60_000, 900_000
BEGIN_MS = 1_800_000_000_000


@given(
    st.dictionaries(
        st.integers(0, 2**42), st.floats(allow_nan=False, allow_infinity=False), max_size=40
    )
)
def test_values_come_back_as_they_were(rows: dict[int, float]) -> None:
    at_ms = sorted(rows)
    values = [rows[at] for at in at_ms]
    back = unpack_values(pack_values(at_ms, values), 60, is_switch=False)
    assert (back.at_ms, back.means) == (at_ms, values)


def test_a_day_of_a_sensor_takes_less_than_a_byte_a_value() -> None:
    at_ms = [BEGIN_MS + number * MINUTE_MS for number in range(DAY_S // 60)]
    values = [round(20 + (number % 97) / 10 - (number % 13) / 10, 1) for number in range(1440)]
    assert len(pack_values(at_ms, values)) < MOST_BYTES


def test_buckets_come_back_as_they_were() -> None:
    at_ms = [BEGIN_MS + number * MINUTE_MS for number in range(100)]
    rows = of_values(at_ms, [number % 2 for number in range(100)], 60, is_switch=True)
    buckets = in_buckets(rows, QUARTER_MS)
    assert unpack_buckets(pack_buckets(buckets)) == buckets


def test_a_bucket_knows_the_least_the_most_the_mean_and_the_time_on() -> None:
    at_ms = [BEGIN_MS, BEGIN_MS + 10_000, BEGIN_MS + 40_000]
    rows = of_values(at_ms, [0.0, 1.0, 0.0], 60, is_switch=True)
    bucket = in_buckets(rows, QUARTER_MS)
    assert (bucket.lows, bucket.highs, bucket.means) == ([0.0], [1.0], [0.333])
    assert (bucket.on_ms, bucket.starts, bucket.counts) == ([30_000], [1], [3])


def test_nothing_is_known_of_a_gap() -> None:
    rows = of_values([0, 60_000, 3_600_000, 3_660_000], [1.0] * 4, 60, is_switch=True)
    # Two cadences and a half, and not the hour
    assert rows.known_ms == [60_000, 150_000, 60_000, 0]
    assert rows.on_ms == rows.known_ms


def test_one_long_distance_is_a_gap_and_several_are_a_cadence_of_before() -> None:
    at_ms = [0, 60_000, 120_000, 130_000, 140_000, 200_000, 210_000]
    rows = of_values(at_ms, [1.0] * 7, 10, is_switch=False)
    assert rows.known_ms == [60_000, 60_000, 10_000, 10_000, 25_000, 10_000, 0]


def test_no_rows_are_no_bytes_too_many() -> None:
    assert unpack_values(pack_values([], []), 60, is_switch=False) == Columns()
    assert in_buckets(Columns(), QUARTER_MS) == Columns()
