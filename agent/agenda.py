"""Composition of the jobs: their store, their owners, and their runner.

Made before there are channels, at work once there are; a start loads none of it.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from agent.channels.base import Deliver
from agent.clock import Clock
from agent.dispatch.delivery import Delivery
from agent.dispatch.owner import Tell
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker

if TYPE_CHECKING:
    from agent.schedule.book import JobBook
    from agent.schedule.heartbeat import Home
    from agent.schedule.schedule import Schedule
    from agent.schedule.store import JobStore

# ruff: noqa: PLC0415  # an agent at work needs it, no start


class Agenda:
    """The jobs of one agent; nothing is done until `run` is at work."""

    def __init__(self, settings: Settings, paths: Paths, clock: Clock) -> None:
        self._settings = settings
        self._paths = paths
        self._clock = clock

    @cached_property
    def store(self) -> "JobStore":
        from agent.schedule.store import JobStore

        return JobStore(self._paths.jobs)

    @cached_property
    def book(self) -> "JobBook":
        from agent.schedule.book import JobBook

        return JobBook(self.store, self._clock, changed=self._schedule.wake)

    @cached_property
    def _schedule(self) -> "Schedule":
        from agent.schedule.schedule import Schedule

        return Schedule(self.store, self._clock)

    async def told_to(self, person: str) -> str:
        """A person's jobs in words."""
        return await self.book.told_to(person)

    async def run(
        self,
        journal: DatabaseWorker,
        delivery: Delivery,
        deliver: Deliver,
        tell: Tell,
        home: "Home",
    ) -> None:
        """Until cancelled."""
        from agent.schedule.heartbeat import Heartbeat
        from agent.schedule.performing import Performer
        from agent.schedule.schedule import Outside
        from agent.schedule.zone import local_zone

        workspace = self._paths.workspace
        perform = Performer(journal, delivery, deliver, self._clock, workspace)
        every_minutes = self._settings.schedule.heartbeat_minutes
        heartbeat = Heartbeat(self.store, self._clock, every_minutes, workspace, home)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(heartbeat.run())
            tasks.create_task(self._schedule.run(Outside(perform, tell, local_zone)))
