"""Reminders, each kept as a timer (after a delay) or as a job (at a time)."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from itertools import count

from msgspec import Struct

from agent.errors import BadArguments
from agent.passage import Fact, configured, echo, own
from agent.schedule.job_book import JobBook
from agent.schedule.timer_book import TimerBook
from agent.schedule.trust import is_trusted
from agent.schedule.zone import local_zone
from agent.system.clock import Clock
from agent.tools.base import Forecast, ToolContext
from agent.tools.cron import CronAddArguments
from agent.tools.reminder import ReminderSetArguments
from agent.tools.timer import TimerStartArguments

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
    """Return the next matching time in seconds since the epoch; raise BadArguments."""
    match = _AT.fullmatch(text.strip().lower())
    if match is None:
        return _exactly(text, zone)
    now = datetime.fromtimestamp(now_s, zone)
    times = [(int(match[place]), int(match[place + 1])) for place in (2, 4) if match[place]]
    candidates = [_on(match[1], now, *time) for time in times]
    coming = [one for one in candidates if one > now]
    if not coming:
        shown = configured(f"{now:%Y-%m-%d %H:%M}")
        raise BadArguments(own("{} has passed; it is {} now", echo(text), shown))
    return min(coming).timestamp()


def again_of(text: str) -> tuple[str, float]:
    """Return a cron expression, or an interval in seconds; raise BadArguments."""
    wanted = text.strip().lower()
    if match := _AGAIN.fullmatch(wanted):
        minutes = int(match[1]) * (_HOUR_MINUTES if match[2] == "hour" else 1)
        return "", minutes * 60.0
    if match := _EVERY.fullmatch(wanted):
        return f"{int(match[3])} {int(match[2])} * * {_CRON_DAYS[match[1]]}", 0.0
    raise BadArguments(own("{} is not a repeating time: {}", echo(repr(text)), own(HOW_EVERY)))


def _exactly(text: str, zone: tzinfo | None) -> float:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as err:
        raise BadArguments(own("{} is not a time: {}", echo(repr(text)), own(HOW_AT))) from err
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def _on(day: str | None, now: datetime, hour: int, minute: int) -> datetime:
    """Return that time on that day; without a day, or on a weekday, the next one."""
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


_MINUTE_S = 60


class ReminderBook(Struct, frozen=True):
    """Implements `agent.tools.reminder.Reminders`.

    Args:
        reminder: what is said of a text at its time, by its language.
    """

    jobs: JobBook
    timers: TimerBook
    clock: Clock
    reminder: Callable[[str, str], str]
    zone: Callable[[], tzinfo] = local_zone

    async def remind(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        if sum((wanted.in_seconds is not None, bool(wanted.at), bool(wanted.every))) != 1:
            raise BadArguments(own("say when: one of in_seconds, at and every"))
        if bool(wanted.text.strip()) == bool(wanted.order.strip()):
            raise BadArguments(own("say what: either a text or an order"))
        if wanted.in_seconds is not None:
            timer = TimerStartArguments(
                wanted.in_seconds, order=wanted.order, language=wanted.language
            )
            return await self.timers.keep(timer, wanted.text, context)
        return await self._as_job(wanted, context)

    async def foresee(self, wanted: ReminderSetArguments) -> Forecast | None:
        """See `agent.tools.reminder.Reminders`."""
        if not wanted.order.strip() or wanted.in_seconds is not None:
            return None
        return await self.jobs.foresee(self._job(wanted, "order"), wanted.language)

    async def _as_job(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        order = wanted.order.strip()
        job = self._job(wanted, await self._name("order" if order else "reminder"))
        first = await self.jobs.add(job, context, wanted.language)
        told: dict[str, Fact] = {"job": echo(job.name), "first": first}
        words = {"every": wanted.every, "order": order, "text": wanted.text}
        return told | {key: echo(value) for key, value in words.items() if value}

    def _job(self, wanted: ReminderSetArguments, name: str) -> CronAddArguments:
        now_s = self.clock.wall_s()
        if not is_trusted(now_s):
            raise BadArguments(own("the clock is not set yet, so I do not know when that is"))
        cron, every_s = again_of(wanted.every) if wanted.every else ("", 0.0)
        at_s = moment_of(wanted.at, now_s, self.zone()) if wanted.at else 0.0
        at = datetime.fromtimestamp(at_s, self.zone()).isoformat() if at_s else ""
        order = wanted.order.strip()
        return CronAddArguments(
            name=name,
            cron=cron,
            at=at,
            every_minutes=round(every_s / _MINUTE_S),
            prompt=order,
            message="" if order else self.reminder(wanted.text.strip(), wanted.language),
        )

    async def _name(self, kind: str) -> str:
        """Return a name that no job has."""
        taken = await self.jobs.names()
        return next(name for number in count(1) if (name := f"{kind}-{number}") not in taken)
