"""Timers over a file, driven by a test through any stretch of time, reboots and power cuts."""

import asyncio
from pathlib import Path

from agent.messages import Address, Provenance
from agent.providers.offline.timer_words import SpokenTimers
from agent.schedule.countdown import Countdown, Outlet
from agent.schedule.job import Job
from agent.schedule.schedule import JobFailed
from agent.schedule.timer_book import TimerBook
from agent.schedule.timer_store import TimerStore
from agent.schedule.zone import UTC
from agent.tools.base import ToolContext
from tests.fakes.jumping_clock import JumpingClock

START_S = 1_800_000_000.0


def context(person: str = "owner") -> ToolContext:
    return ToolContext("c", person, Provenance.OWNER, place=Address("fake", "chat", person))


class TimerRun:
    """Keeps what was said and begun; `reboot` and `restart` begin anew on the same file."""

    def __init__(self, folder: Path, wall_s: float = START_S) -> None:
        self.clock = JumpingClock(wall_s)
        self.store = TimerStore(folder / "timers.json")
        self.said: list[str] = []
        self.begun: list[str] = []
        self.told: list[str] = []
        self.refusal = ""
        self._boots = 0
        self.restart()

    def restart(self) -> None:
        """Another agent in the same run of the machine."""
        self.countdown = Countdown(self.store, self.clock, f"boot-{self._boots}")
        self.book = TimerBook(self.store, self.countdown.now, self.countdown.wake, zone=lambda: UTC)

    def reboot(self, off_s: float, clock_lost_s: float = 0.0) -> None:
        """The machine was off for so long; its clock may have stood still meanwhile."""
        wall_s = self.clock.wall_s() + off_s - clock_lost_s
        self.clock = JumpingClock(wall_s, up_s=5.0)
        self._boots += 1
        self.restart()

    async def go(self, duration_s: float, step_s: float = 1.0) -> None:
        """Look as often as a running agent does, and oftener."""
        outlet = Outlet(self._perform, self._tell, SpokenTimers)
        end_s = self.clock.monotonic_s() + duration_s
        while self.clock.monotonic_s() < end_s:
            async with asyncio.TaskGroup() as tasks:
                await self.countdown.look(outlet, tasks)
            await self.clock.sleep(step_s)

    async def _perform(self, job: Job) -> str:
        (self.begun if job.prompt else self.said).append(job.prompt or job.message)
        if self.refusal:
            raise JobFailed(self.refusal)
        return "done"

    async def _tell(self, text: str) -> None:
        self.told.append(text)
