"""Times as tools are told them: `08:00`, `tomorrow 08:00`, `monday 19:30`, `day 07:00`.

Where only half of the clock was said, both are given and the sooner is meant: `08:00 or 20:00`.
"""

import re
from datetime import datetime, timedelta, tzinfo

from agent.errors import BadArguments
from agent.passage import configured, echo, own

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# As cron counts them, Sunday first
_CRON_DAYS = {
    **{day: str((place + 1) % 7) for place, day in enumerate(_DAYS)},
    "day": "*",
    "weekday": "1-5",
    "weekend": "0,6",
}
_TIME = r"([01]?\d|2[0-3]):([0-5]\d)"
_AT = re.compile(
    rf"(?:(today|tomorrow|\+\d{{1,3}}|{'|'.join(_DAYS)}|\d{{4}}-\d\d-\d\d)[ T])?"
    rf"{_TIME}(?: or {_TIME})?"
)
_EVERY = re.compile(rf"({'|'.join(_CRON_DAYS)}) {_TIME}(?: or {_TIME})?")
_AGAIN = re.compile(r"(\d{1,4}) ?(minute|hour)s?")
_HOUR_MINUTES = 60
HOW_AT = "say 08:00, tomorrow 08:00, monday 08:00 or 2026-11-22T08:00"
HOW_EVERY = "say day 07:00, weekday 07:00, monday 07:00 or 30 minutes"


def moment_of(text: str, now_s: float, zone: tzinfo | None) -> float:
    """The next time that is meant, in seconds since the epoch; raises BadArguments."""
    match = _AT.fullmatch(text.strip().lower())
    if match is None:
        return _exactly(text, zone)
    now = datetime.fromtimestamp(now_s, zone)
    times = [(int(match[place]), int(match[place + 1])) for place in (2, 4) if match[place]]
    candidates = [_on(match[1], now, *time) for time in times]
    coming = [one for one in candidates if one > now]
    if not coming:
        shown = configured(f"{now:%Y-%m-%d %H:%M}")
        raise BadArguments(own("{} is over; it is {}", echo(text), shown))
    return min(coming).timestamp()


def again_of(text: str) -> tuple[str, float]:
    """A cron expression, or every how many seconds; raises BadArguments."""
    wanted = text.strip().lower()
    if match := _AGAIN.fullmatch(wanted):
        minutes = int(match[1]) * (_HOUR_MINUTES if match[2] == "hour" else 1)
        return "", minutes * 60.0
    if match := _EVERY.fullmatch(wanted):
        return f"{int(match[3])} {int(match[2])} * * {_CRON_DAYS[match[1]]}", 0.0
    raise BadArguments(own("{} is no time that comes again: {}", echo(repr(text)), own(HOW_EVERY)))


def _exactly(text: str, zone: tzinfo | None) -> float:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as err:
        raise BadArguments(own("{} is no moment: {}", echo(repr(text)), own(HOW_AT))) from err
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def _on(day: str | None, now: datetime, hour: int, minute: int) -> datetime:
    """That time on that day; without a day, and on a weekday, the next one."""
    # Each day has its own offset where summer time begins or ends
    at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if day is None:
        return at if at > now else at + timedelta(days=1)
    if day in _DAYS:
        ahead = (_DAYS.index(day) - now.weekday()) % len(_DAYS)
        at += timedelta(days=ahead)
        return at if at > now else at + timedelta(days=len(_DAYS))
    if day[0].isdecimal():
        year, month, number = map(int, day.split("-"))
        return _dated(at, year, month, number)
    days = {"today": 0, "tomorrow": 1}.get(day)
    return at + timedelta(days=int(day[1:]) if days is None else days)


def _dated(at: datetime, year: int, month: int, day: int) -> datetime:
    try:
        return at.replace(year=year, month=month, day=day)
    except ValueError as err:
        raise BadArguments(own("there is no such day: {}", echo(str(err)))) from err
