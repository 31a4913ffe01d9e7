"""Periods in a person's words, as spans of the local time."""

from datetime import datetime, timedelta, tzinfo
from typing import Literal, get_args

from msgspec import Struct

Period = Literal[
    "hour", "today", "yesterday", "night", "day", "week", "last_week", "month", "last_month", "year"
]
PERIODS: tuple[str, ...] = get_args(Period)
# A night begins this long before midnight and ends that long after it
_EVENING, _MORNING = timedelta(hours=2), timedelta(hours=6)
# Periods that go by what has passed, also where the clock is put forward or back
_LAST_HOURS = {"hour": 1.0, "day": 24.0}


class Span(Struct, frozen=True):
    """Half-open span of time, in milliseconds since the epoch."""

    begin_ms: int
    end_ms: int

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.begin_ms

    def before(self) -> "Span":
        """Return the span of the same length that ended when this one began."""
        return Span(self.begin_ms - self.length_ms, self.begin_ms)


def span_of(period: str, now_s: float, zone: tzinfo | None = None) -> Span:
    """Return the span of a period; it ends now where it is not over.

    Args:
        zone: None is the zone of this machine.
    """
    if period in _LAST_HOURS:
        return last_hours(_LAST_HOURS[period], now_s)
    now = datetime.fromtimestamp(now_s, tz=zone)
    begin, end = _edges(period, now)
    return Span(_ms(begin), min(_ms(end), _ms(now)))


def is_night(at_ms: int, zone: tzinfo | None = None) -> bool:
    """Return true in the hours of a night of the local time."""
    now = local_time(at_ms, zone)
    since_midnight = timedelta(hours=now.hour, minutes=now.minute)
    return since_midnight < _MORNING or since_midnight >= timedelta(days=1) - _EVENING


def last_hours(hours: float, now_s: float) -> Span:
    end_ms = round(now_s * 1000)
    return Span(end_ms - round(hours * 3_600_000), end_ms)


def local_time(at_ms: int, zone: tzinfo | None = None) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, tz=zone).astimezone(zone)


def _edges(period: str, now: datetime) -> tuple[datetime, datetime]:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=midnight.weekday())
    first = midnight.replace(day=1)
    return {
        "today": (midnight, now),
        "yesterday": (midnight - timedelta(days=1), midnight),
        "night": (midnight - _EVENING, midnight + _MORNING),
        "week": (monday, now),
        "last_week": (monday - timedelta(days=7), monday),
        "month": (first, now),
        "last_month": ((first - timedelta(days=1)).replace(day=1), first),
        "year": (midnight.replace(month=1, day=1), now),
    }[period]


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
