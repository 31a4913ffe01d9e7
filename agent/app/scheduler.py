"""Composition of the jobs: their store, their owners, and their runner.

Made before there are channels, at work once there are; a start loads none of it.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.app.access import RESTORED
from agent.channels.base import Deliver
from agent.messaging.delivery import Delivery
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.messages import Inbound
    from agent.schedule.countdown import Countdown
    from agent.schedule.heartbeat import Home
    from agent.schedule.job_book import JobBook
    from agent.schedule.job_store import JobStore
    from agent.schedule.reminder_book import ReminderBook
    from agent.schedule.schedule import Schedule
    from agent.schedule.timer import TimerWords
    from agent.schedule.timer_book import TimerBook
    from agent.schedule.timer_store import TimerStore
    from agent.tools.order_rehearsal import OrderRehearsal

# ruff: noqa: PLC0415  # an agent at work needs it, no start


class Scheduler:
    """The jobs of one agent; nothing is done until `run` is at work.

    Args:
        rehearsal: gives what tries orders on the readings; None where nothing is recorded.
    """

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        clock: Clock,
        rehearsal: "Callable[[], OrderRehearsal | None]" = lambda: None,
    ) -> None:
        self._settings = settings
        self._rehearsal = rehearsal
        self._paths = paths
        self._clock = clock

    @cached_property
    def store(self) -> "JobStore":
        from agent.schedule.job_store import JobStore

        return JobStore(self._paths.jobs)

    @cached_property
    def book(self) -> "JobBook":
        from agent.schedule.job_book import JobBook

        wake = self._schedule.wake
        return JobBook(self.store, self._clock, changed=wake, rehearsal=self._rehearsal)

    @cached_property
    def timers(self) -> "TimerBook":
        from agent.schedule.timer_book import TimerBook

        return TimerBook(self._timer_store, self._countdown.now, self._countdown.wake)

    @cached_property
    def reminders(self) -> "ReminderBook":
        from agent.providers.offline.timer_words import reminder
        from agent.schedule.reminder_book import ReminderBook

        return ReminderBook(self.book, self.timers, self._clock, reminder)

    @cached_property
    def _timer_store(self) -> "TimerStore":
        from agent.schedule.timer_store import TimerStore

        return TimerStore(self._paths.timers)

    @cached_property
    def _countdown(self) -> "Countdown":
        from agent.schedule.countdown import Countdown

        return Countdown(self._timer_store, self._clock)

    @cached_property
    def _schedule(self) -> "Schedule":
        from agent.schedule.schedule import Schedule

        return Schedule(self.store, self._clock)

    async def told_to(self, person: str) -> str:
        """A person's timers and jobs in words."""
        timers = await self.timers.told_to(person)
        jobs = await self.book.of(person)
        parts = [timers, await self.book.told_to(person) if jobs or not timers else ""]
        return "\n".join(part for part in parts if part)

    async def run(
        self,
        journal: DatabaseWorker,
        delivery: Delivery,
        deliver: Deliver,
        stands: "Callable[[Inbound], bool]",
        tell: Tell,
        home: "Home",
    ) -> None:
        """Until cancelled."""
        from agent.schedule.countdown import Outlet
        from agent.schedule.heartbeat import Heartbeat
        from agent.schedule.performer import Performer
        from agent.schedule.schedule import Outside
        from agent.schedule.zone import local_zone

        workspace = self._paths.workspace
        every_minutes = self._settings.schedule.heartbeat_minutes
        heartbeat = Heartbeat(self.store, self._clock, every_minutes, workspace, home)
        async with asyncio.TaskGroup() as tasks:
            perform = Performer(journal, delivery, deliver, stands, self._clock, workspace, tasks)
            tasks.create_task(heartbeat.run())
            outside = Outside(
                perform, tell, local_zone, self._is_dated, _late_reminder, perform.follow
            )
            tasks.create_task(self._schedule.run(outside))
            tasks.create_task(self._countdown.run(Outlet(perform, tell, _timer_words)))

    def _is_dated(self, wall_s: float) -> bool:
        """Return true if the clock is believed, and the jobs are settled after a restore."""
        from agent.schedule.trust import is_trusted

        if not is_trusted(wall_s) or not (self._paths.state_dir / RESTORED).exists():
            return is_trusted(wall_s)
        from agent.backup.aftermath import read_note

        note = read_note(self._paths.state_dir)
        return note is None or bool(note.restored_at_s)


def _timer_words(language: str) -> "TimerWords":
    from agent.providers.offline.timer_words import SpokenTimers

    return SpokenTimers(language)


def _late_reminder(text: str, language: str) -> str:
    from agent.providers.offline.timer_words import late_reminder

    return late_reminder(text, language)
