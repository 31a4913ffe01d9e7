"""Random jobs, and what the schedule at work makes of them: a real file, and a clock that leaps."""

import asyncio
import random
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from agent.schedule.schedule import Outside, Schedule

# Where the clock is changed twice a year
BERLIN = ZoneInfo("Europe/Berlin")
_INTERVALS_MINUTES = (15, 17, 45, 60, 90, 240, 1440)


class _LeapingClock:
    """Clock that stands still between two looks."""

    def __init__(self, wall_s: float) -> None:
        self.now_s = wall_s

    def wall_s(self) -> float:
        return self.now_s

    def monotonic_s(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


def random_job(seed: int, made_s: float) -> Job:
    """Return a job that repeats, made at that time."""
    chance = random.Random(seed)  # noqa: S311 - the same case again
    cron, every_s = "", 0.0
    if chance.random() < 0.4:  # noqa: PLR2004 - a share
        every_s = 60.0 * chance.choice(_INTERVALS_MINUTES)
    else:
        minute = chance.choice(["0", "30", "*/15", "59", str(chance.randint(0, 59))])
        hour = chance.choice(["*", "2", "3", "*/6", "1-4", str(chance.randint(0, 23))])
        cron = f"{minute} {hour} * * {chance.choice(['*', '*', '1-5', '0,6', 'mon'])}"
    return Job(
        name=f"job-{seed}",
        channel="fake",
        target="4711",
        person="owner",
        prompt="x",
        cron=cron,
        every_s=every_s,
        created_s=made_s,
        seen_s=made_s if cron else 0.0,
    )


async def scheduled(
    jobs: Sequence[Job], begin_s: float, end_s: float, store: JobStore
) -> dict[str, list[float]]:
    """Return the times at which the schedule at work runs each."""
    clock = _LeapingClock(begin_s)
    runs: dict[str, list[float]] = {one.name: [] for one in jobs}
    for one in jobs:
        await asyncio.to_thread(store.add, one)

    async def perform(job: Job) -> str:
        runs[job.name].append(clock.now_s)
        return "done"

    async def tell(text: str) -> None:
        raise ValueError(text)

    schedule = Schedule(store, clock)
    outside = Outside(perform, tell, lambda: BERLIN)
    while clock.now_s < end_s:
        async with asyncio.TaskGroup() as tasks:
            pause_s = await schedule.look(outside, tasks)
        await clock.sleep(pause_s)
    return runs
