"""A schedule over a file of jobs, driven by a test through any stretch of time."""

import asyncio
from datetime import datetime, tzinfo
from pathlib import Path

from agent.schedule.due import LOOK_S
from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from agent.schedule.schedule import JobFailed, Outside, Schedule
from agent.schedule.trust import is_trusted
from tests.fakes.jumping_clock import JumpingClock


def job(name: str = "tea", **fields: object) -> Job:
    given = {"channel": "fake", "target": "chat", "person": "owner", "message": "Tea!", **fields}
    return Job(name=name, **given)  # type: ignore[arg-type] # whatever the test says


class JobRun:
    """Keeps when each job ran, by the wall, and what the owner was told."""

    def __init__(self, folder: Path, clock: JumpingClock, zone: tzinfo) -> None:
        self.clock = clock
        self.zone = zone
        self.store = JobStore(folder / "jobs.json")
        self.ran: list[tuple[str, float]] = []
        self.told: list[str] = []
        self.refusal = ""
        # What came of runs that were cut off
        self.followed: list[Job] = []
        # No timesyncd where tests run: only the time itself speaks for it
        self.root = folder
        self.restart()

    def restart(self) -> None:
        """Another agent on the same file."""
        self.schedule = Schedule(self.store, self.clock)

    async def go(self, duration_s: float) -> None:
        """Look as often as the agent does."""
        outside = Outside(
            self._perform,
            self._tell,
            lambda: self.zone,
            lambda wall_s: is_trusted(wall_s, self.root),
            follow=self._follow,
        )
        end_s = self.clock.monotonic_s() + duration_s
        while self.clock.monotonic_s() < end_s:
            async with asyncio.TaskGroup() as tasks:
                await self.schedule.look(outside, tasks)
            await self.clock.sleep(LOOK_S)

    def times(self) -> list[str]:
        """When anything ran, as the clock on the wall showed it."""
        return [f"{datetime.fromtimestamp(at_s, self.zone):%m-%d %H:%M}" for _, at_s in self.ran]

    async def _perform(self, job: Job) -> str:
        self.ran.append((job.name, self.clock.wall_s()))
        if self.refusal:
            raise JobFailed(self.refusal)
        return "sent"

    async def _follow(self, job: Job) -> str:
        self.followed.append(job)
        if self.refusal:
            raise JobFailed(self.refusal)
        return "answered"

    async def _tell(self, text: str) -> None:
        self.told.append(text)
