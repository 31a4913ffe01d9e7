"""Schedule: runs each job at its time, one run at once, and stores the result.

A job is marked as run before it runs, so a crash does not repeat it. A job that keeps failing is
paused and its owner told.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import BadArguments, BarnacleError
from agent.schedule.due import ClockReading, DueVerdict, looked_at, pause_s
from agent.schedule.job import Job, State
from agent.schedule.job_store import JobStore
from agent.schedule.trust import is_trusted
from agent.system.clock import Clock
from agent.system.repeats import RepeatedTrouble

_log = logging.getLogger(__name__)

# However often jobs are changed, and however the clock is set
SOONEST_S = 0.5
# A turn may take twenty minutes, and its delivery some; after that it counts as failed
RUN_TIMEOUT_S = 1500.0
# So often in a row is no accident
MAX_FAILURES = 3
_MAX_RESULT_CHARS = 300
# What is read where the end of a run was never seen
_BEGUN = "begun"


class JobFailed(BarnacleError):
    """The run failed; the text says why.

    Args:
        is_told: whoever ordered it has read why already.
    """

    def __init__(self, why: str, *, is_told: bool = False) -> None:
        super().__init__(why)
        self.is_told = is_told


# Does what a job says and returns what came of it, in words; raises BarnacleError
Perform = Callable[[Job], Awaitable[str]]
Tell = Callable[[str], Awaitable[None]]


async def _unknown(_job: Job) -> str:
    return "the agent ended during it"


class Outside(Struct, frozen=True):
    """Connections of a schedule to the rest of the agent.

    Args:
        zone: the local time zone, as it is now.
        late: what is said of a reminder that was missed, by its text and language.
        follow: returns what came of a run that the end of the agent cut off.
    """

    perform: Perform
    tell: Tell
    zone: Callable[[], tzinfo | None] = lambda: None
    is_trusted: Callable[[float], bool] = is_trusted
    late: Callable[[str, str], str] = lambda text, _language: text
    follow: Perform = _unknown


class Schedule:
    """Watches every job while `run` is at work."""

    def __init__(self, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        # When each was last run, or first seen, by the monotonic clock
        self._since_s: dict[tuple[str, float], float] = {}
        self._running: set[str] = set()
        # Runs that an earlier agent began are followed at the first look
        self._has_looked = False
        self._changed = asyncio.Event()
        self._trouble = RepeatedTrouble(_log)

    async def run(self, outside: Outside) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                soonest_s = await self.look(outside, tasks)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(soonest_s, SOONEST_S)):
                        await self._changed.wait()

    def wake(self) -> None:
        """Look at once, because a job changed."""
        self._changed.set()

    async def look(self, outside: Outside, tasks: asyncio.TaskGroup) -> float:
        """Start due jobs; return the seconds until the next look."""
        wall_s = self._clock.wall_s()
        moment = ClockReading(
            wall_s, self._clock.monotonic_s(), outside.zone(), outside.is_trusted(wall_s)
        )
        soonest_s = pause_s(wall_s)
        try:
            jobs = await asyncio.to_thread(self._store.every)
        except OSError as err:
            # A card that is worn: whatever else the agent does goes on
            self._trouble.met(f"schedule: jobs not read: {err}", logging.ERROR)
            return soonest_s
        self._trouble.over()
        self._follow_cut(jobs, outside, tasks)
        for job in jobs:
            if job.at_s > wall_s:
                soonest_s = min(soonest_s, job.at_s - wall_s)
            if job.name in self._running:
                continue
            try:
                await self._look_at(job, moment, outside, tasks)
            except (BarnacleError, OSError) as err:
                # A full disk, or one that was removed: the others still have their time
                _log.error("schedule: job not started (name=%s): %s", job.name, err)
        return soonest_s

    def _follow_cut(self, jobs: Sequence[Job], outside: Outside, tasks: asyncio.TaskGroup) -> None:
        """Follow the runs that the end of an earlier agent cut off."""
        if self._has_looked:
            return
        self._has_looked = True
        for job in jobs:
            if job.result == _BEGUN:
                self._running.add(job.name)
                tasks.create_task(self._perform(job, outside.follow, outside))

    async def _look_at(
        self, job: Job, moment: ClockReading, outside: Outside, tasks: asyncio.TaskGroup
    ) -> None:
        since_s = self._since_s.setdefault(_key(job), _begun_s(job, moment))
        verdict, after = looked_at(job, moment, moment.monotonic_s - since_s)
        if verdict is DueVerdict.WAIT and after.seen_s >= job.seen_s:
            # Only what matters is written: an idle schedule leaves the card alone
            return
        # A reminder is late rather than never, where it was set
        is_late = verdict is DueVerdict.MISSED and bool(job.language and job.message)
        runs = verdict is DueVerdict.RUN or is_late
        if runs:
            after = replace(after, result=_BEGUN, run_id=uuid.uuid4().hex)
        kept = await asyncio.to_thread(
            self._store.change, job.name, lambda now: after if now == job else now
        )
        if kept != after:
            # A person has changed it meanwhile: what they say now is looked at next
            return
        if verdict in {DueVerdict.RUN, DueVerdict.CAPPED}:
            self._since_s[_key(job)] = moment.monotonic_s
        if runs:
            if is_late:
                said = await asyncio.to_thread(outside.late, job.message, job.language)
                after = replace(after, message=said)
            self._running.add(job.name)
            tasks.create_task(self._perform(after, outside.perform, outside))
        elif verdict is DueVerdict.MISSED:
            await self._note(job.name, "its time had passed before the agent looked: not run")
            await outside.tell(f"I missed the time of the job {job.name} and did not run it.")
        elif verdict is DueVerdict.CAPPED:
            await self._note(job.name, "not run: it reached the daily limit of runs")

    async def _perform(self, job: Job, perform: Perform, outside: Outside) -> None:
        try:
            async with asyncio.timeout(RUN_TIMEOUT_S):
                await self._note(job.name, await perform(job), failures=0)
        except TimeoutError:
            await self._failed(job, f"no result after {RUN_TIMEOUT_S:.0f} s", outside)
        except JobFailed as err:
            await self._failed(job, str(err), outside, is_told=err.is_told)
        except BarnacleError as err:
            await self._failed(job, str(err), outside)
        finally:
            self._running.discard(job.name)

    async def _failed(self, job: Job, why: str, outside: Outside, *, is_told: bool = False) -> None:
        _log.warning("schedule: job failed (name=%s): %s", job.name, why)
        failures = job.failures + 1
        await self._note(job.name, f"failed: {why}", failures)
        if failures >= MAX_FAILURES:
            await outside.tell(
                f"The job {job.name} failed {failures} times in a row and is paused: {why}"
            )
        elif failures == 1 and not is_told:
            await outside.tell(f"The job {job.name} failed: {why}")

    async def _note(self, name: str, result: str, failures: int | None = None) -> None:
        def change(job: Job) -> Job:
            count = job.failures if failures is None else failures
            state = State.PAUSED if count >= MAX_FAILURES else job.state
            return replace(job, result=result[:_MAX_RESULT_CHARS], failures=count, state=state)

        try:
            await asyncio.to_thread(self._store.change, name, change)
        except BadArguments:
            _log.info("schedule: job removed during its run (name=%s)", name)
        except (BarnacleError, OSError) as err:
            _log.error("schedule: result not saved (name=%s, result=%s): %s", name, result, err)


def _key(job: Job) -> tuple[str, float]:
    """Return a key that differs for a later job of the same name."""
    return job.name, job.created_s


def _begun_s(job: Job, moment: ClockReading) -> float:
    """Return the start of the wait by the monotonic clock; a wrong clock delays one run."""
    waited_s = moment.wall_s - (job.ran_s or job.created_s)
    return moment.monotonic_s - min(max(waited_s, 0.0), job.every_s)
