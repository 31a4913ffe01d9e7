from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from agent.errors import BadArguments
from agent.readings.csv_times import TimeReader

BERLIN = ZoneInfo("Europe/Berlin")
# 2026-03-01 10:00:00 UTC
AT_MS = 1_772_359_200_000


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("2026-03-01T10:00:00Z", AT_MS),
        ("2026-03-01T10:00:00.125Z", AT_MS + 125),
        ("2026-03-01 11:00", AT_MS),
        ("2026-03-01T12:00:00+02:00", AT_MS),
        ("20260301T110000", AT_MS),
        ("20260301", AT_MS - 11 * 3_600_000),
        ("1772359200", AT_MS),
        ("1772359200.5", AT_MS + 500),
        ("1772359200000", AT_MS),
    ],
)
def test_a_time_is_understood_as_it_is_written(text: str, expected_ms: int) -> None:
    assert TimeReader(BERLIN).read(text) == expected_ms


def test_a_given_format_is_taken_in_the_given_zone() -> None:
    assert TimeReader(BERLIN, "%d.%m.%Y %H:%M").read("01.03.2026 11:00") == AT_MS
    assert TimeReader(UTC, "%m/%d/%Y %I:%M %p").read("03/01/2026 10:00 AM") == AT_MS


@pytest.mark.parametrize("text", ["", "yesterday", "01.03.2026 11:00", "12", "nan", "inf"])
def test_what_is_no_time_is_refused_with_advice(text: str) -> None:
    with pytest.raises(BadArguments, match="--format"):
        TimeReader(BERLIN).read(text)


def test_a_time_that_does_not_fit_the_format_is_refused() -> None:
    with pytest.raises(BadArguments, match="is not %H"):
        TimeReader(BERLIN, "%H:%M").read("noon")


def test_the_hour_that_comes_twice_is_taken_twice_for_each_reading() -> None:
    reader = TimeReader(BERLIN)
    texts = ("2026-10-25 02:00", "2026-10-25 02:30", "2026-10-25 02:00", "2026-10-25 02:30")
    for reading in ("in", "out"):
        taken = [reader.read(text, reading) for text in (*texts, "2026-10-25 03:00")]
        assert [later - taken[0] for later in taken] == [n * 1_800_000 for n in range(5)]


def test_an_hour_that_the_zone_does_not_have_is_refused() -> None:
    with pytest.raises(BadArguments, match="put forward"):
        TimeReader(BERLIN).read("2026-03-29 02:30")
