from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from agent.readings.periods import span_of

BERLIN = ZoneInfo("Europe/Berlin")
HOUR_MS = 3_600_000


@pytest.mark.parametrize(("period", "hours"), [("hour", 1), ("day", 24)])
@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN),
        datetime(2026, 3, 30, 2, 30, tzinfo=BERLIN),
        datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        datetime(2026, 10, 25, 3, 30, tzinfo=BERLIN),
        datetime(2026, 5, 2, 15, 0, tzinfo=BERLIN),
    ],
)
def test_the_last_hours_are_as_long_as_they_say_when_the_clock_is_put(
    now: datetime, period: str, hours: int
) -> None:
    span = span_of(period, now.timestamp(), BERLIN)
    assert span.length_ms == hours * HOUR_MS
    assert span.end_ms == now.timestamp() * 1000
