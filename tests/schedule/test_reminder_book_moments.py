from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from agent.errors import BadArguments
from agent.schedule.reminder_book import again_of, moment_of

# A Sunday
NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("16:00", "2026-11-22 16:00"),
        ("08:00", "2026-11-23 08:00"),
        ("8:00 or 20:00", "2026-11-22 20:00"),
        ("03:00 or 15:00", "2026-11-23 03:00"),
        ("tomorrow 08:00 or 20:00", "2026-11-23 08:00"),
        ("today 18:00", "2026-11-22 18:00"),
        ("+2 08:00", "2026-11-24 08:00"),
        ("Monday 08:00", "2026-11-23 08:00"),
        ("sunday 15:00", "2026-11-29 15:00"),
        ("sunday 16:00", "2026-11-22 16:00"),
        ("2026-12-24 18:00", "2026-12-24 18:00"),
        ("2026-12-24T18:00:00+01:00", "2026-12-24 17:00"),
    ],
)
def test_a_time_is_the_next_one_that_is_meant(text: str, wanted: str) -> None:
    at = datetime.fromtimestamp(moment_of(text, NOW.timestamp(), UTC), UTC)
    assert f"{at:%Y-%m-%d %H:%M}" == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soon", "is not a time"),
        ("25:00", "is not a time"),
        ("today 08:00", "has passed"),
        ("2026-02-30 08:00", "no such day"),
    ],
)
def test_what_is_no_time_is_a_sentence(text: str, said: str) -> None:
    with pytest.raises(BadArguments, match=said):
        moment_of(text, NOW.timestamp(), UTC)


def test_the_day_after_summer_time_has_the_same_clock() -> None:
    zone = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 10, 24, 20, 0, tzinfo=zone)
    at = datetime.fromtimestamp(moment_of("tomorrow 08:00", before.timestamp(), zone), zone)
    assert f"{at:%d %H:%M}" == "25 08:00"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("day 07:00", ("0 7 * * *", 0.0)),
        ("weekday 7:30", ("30 7 * * 1-5", 0.0)),
        ("weekend 09:00", ("0 9 * * 0,6", 0.0)),
        ("sunday 08:00 or 20:00", ("0 8 * * 0", 0.0)),
        ("30 minutes", ("", 1800.0)),
        ("1 hour", ("", 3600.0)),
    ],
)
def test_what_comes_again_is_a_cron_line_or_an_interval(
    text: str, wanted: tuple[str, float]
) -> None:
    assert again_of(text) == wanted


def test_what_never_comes_again_is_a_sentence() -> None:
    with pytest.raises(BadArguments, match="say day 07:00"):
        again_of("now and then")
