"""Reminders, each kept as what it is: a timer where a time passes first, else a job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import count

from agent.clock import Clock
from agent.errors import BadArguments
from agent.passage import Fact, echo, own
from agent.schedule.book import JobBook
from agent.schedule.moments import again_of, moment_of
from agent.schedule.timer_book import TimerBook
from agent.schedule.trust import is_trusted
from agent.schedule.zone import local_zone
from agent.tools.base import ToolContext
from agent.tools.cron import CronAddArguments
from agent.tools.reminder import ReminderSetArguments
from agent.tools.timer import TimerStartArguments

_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class ReminderBook:
    """See `agent.tools.reminder.Reminders`.

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

    async def _as_job(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        now_s = self.clock.wall_s()
        if not is_trusted(now_s):
            raise BadArguments(own("the clock is not set yet, so I do not know when that is"))
        cron, every_s = again_of(wanted.every) if wanted.every else ("", 0.0)
        at_s = moment_of(wanted.at, now_s, self.zone()) if wanted.at else 0.0
        at = datetime.fromtimestamp(at_s, self.zone()).isoformat() if at_s else ""
        order = wanted.order.strip()
        job = CronAddArguments(
            name=await self._name("order" if order else "reminder"),
            cron=cron,
            at=at,
            every_minutes=round(every_s / _MINUTE_S),
            prompt=order,
            message="" if order else self.reminder(wanted.text.strip(), wanted.language),
        )
        first = await self.jobs.add(job, context, wanted.language)
        told: dict[str, Fact] = {"job": echo(job.name), "first": first}
        words = {"every": wanted.every, "order": order, "text": wanted.text}
        return told | {key: echo(value) for key, value in words.items() if value}

    async def _name(self, kind: str) -> str:
        """One that nobody's job has."""
        taken = await self.jobs.names()
        return next(name for number in count(1) if (name := f"{kind}-{number}") not in taken)
