"""Due times of jobs, robust against clock changes.

Pure. A jump forward over many times is one run at most, and none when the last of them is long
past; a jump back runs nothing twice, and what was jumped over runs when it really comes.
"""

import enum
from datetime import datetime, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.schedule.cron import slots
from agent.schedule.job import MAX_RUNS_A_DAY, MAX_STRETCHES, Job, State

# Later than this, what was to be done is no longer what was wanted
GRACE_S = 3600.0
# Twice a minute: no minute of a cron expression is passed by unseen
LOOK_S = 30.0


class ClockReading(Struct, frozen=True):
    """Reading of the clocks; `is_trusted` is about the wall clock."""

    wall_s: float
    monotonic_s: float
    zone: tzinfo | None = None
    is_trusted: bool = True

    @property
    def day(self) -> str:
        return f"{datetime.fromtimestamp(self.wall_s, self.zone):%Y-%m-%d}"

    @property
    def most_runs(self) -> int:
        """Return how often a job may run today; more often on a day of 25 hours."""
        begin = datetime.fromtimestamp(self.wall_s, self.zone).replace(hour=0, minute=0, fold=0)
        hours = ((begin + timedelta(days=1)).timestamp() - begin.timestamp()) / 3600.0
        return max(MAX_RUNS_A_DAY, round(MAX_RUNS_A_DAY * hours / 24))


class DueVerdict(enum.Enum):
    """Verdict on a job."""

    # Nothing
    WAIT = "wait"
    # It runs, once
    RUN = "run"
    # Its time passed while nobody looked
    MISSED = "missed"
    # It ran as often as it may on one day
    CAPPED = "capped"


def pause_s(wall_s: float) -> float:
    """Return the seconds until the next look at a job without a moment of its own."""
    # A minute of a cron expression begins
    return min(LOOK_S, 60.0 - wall_s % 60.0)


def looked_at(job: Job, moment: ClockReading, waited_s: float) -> tuple[DueVerdict, Job]:
    """Return the verdict, and the job to keep before anything is done.

    Args:
        waited_s: by the monotonic clock, since it last ran or was first seen.
    """
    if job.run_now:
        return _claimed(replace(job, run_now=False), moment)
    if job.state is not State.WAITING:
        return DueVerdict.WAIT, job
    if job.every_s:
        return _claimed(job, moment) if waited_s >= job.every_s else (DueVerdict.WAIT, job)
    if not moment.is_trusted:
        return DueVerdict.WAIT, job
    return _once(job, moment) if job.at_s else _by_cron(job, moment)


def _once(job: Job, moment: ClockReading) -> tuple[DueVerdict, Job]:
    late_s = moment.wall_s - job.at_s
    if late_s < 0:
        # A clock that was wrong has told of it too early
        return DueVerdict.WAIT, replace(job, seen_s=0.0) if job.seen_s else job
    if late_s <= GRACE_S:
        return _claimed(replace(job, state=State.DONE), moment)
    if job.seen_s:
        return DueVerdict.WAIT, job
    return DueVerdict.MISSED, replace(job, seen_s=moment.wall_s)


def _by_cron(job: Job, moment: ClockReading) -> tuple[DueVerdict, Job]:
    now_s = moment.wall_s
    if now_s < job.seen_s:
        return DueVerdict.WAIT, replace(job, seen_s=now_s)
    last_s = None
    for slot_s in slots(job.cron, max(job.seen_s, now_s - GRACE_S), moment.zone):
        if slot_s > now_s:
            break
        last_s = slot_s
    seen = replace(job, seen_s=now_s)
    if last_s is None:
        return (DueVerdict.MISSED if _has_missed(job, moment) else DueVerdict.WAIT), seen
    if job.ran_at(last_s):
        return DueVerdict.WAIT, seen
    return _claimed(replace(seen, stretches=_with(job, last_s, moment.zone)), moment)


def _has_missed(job: Job, moment: ClockReading) -> bool:
    first_s = next(slots(job.cron, job.seen_s, moment.zone), moment.wall_s)
    # Those that ran already are looked at again only by a clock that was set back
    while (over_s := job.ran_until(first_s)) is not None:
        first_s = next(slots(job.cron, over_s, moment.zone), moment.wall_s)
    return first_s < moment.wall_s - GRACE_S


def coming_s(job: Job, now_s: float, zone: tzinfo | None) -> float | None:
    """Return the next known time of a job; None if only a person starts it."""
    if job.run_now:
        return now_s
    if job.state is not State.WAITING:
        return None
    if job.every_s:
        return max(now_s, (job.ran_s or job.created_s) + job.every_s)
    if job.at_s:
        return job.at_s if job.at_s > now_s - GRACE_S else None
    try:
        return next(slots(job.cron, now_s, zone), None)
    except BadArguments:
        # A slip in the file: it never comes
        return None


def _with(job: Job, slot_s: float, zone: tzinfo | None) -> tuple[tuple[float, float], ...]:
    """Return the stretches with one more time; extend the last one if the time follows it."""
    if job.stretches:
        *earlier, (first_s, last_s) = job.stretches
        if next(slots(job.cron, last_s, zone), None) == slot_s:
            return (*earlier, (first_s, slot_s))
    return (*job.stretches, (slot_s, slot_s))[-MAX_STRETCHES:]


def _claimed(job: Job, moment: ClockReading) -> tuple[DueVerdict, Job]:
    """Count the job as run before it runs, so that nothing runs twice."""
    runs = job.runs if job.day == moment.day else 0
    if runs >= moment.most_runs:
        return DueVerdict.CAPPED, replace(job, day=moment.day, ran_s=moment.wall_s)
    return DueVerdict.RUN, replace(job, day=moment.day, runs=runs + 1, ran_s=moment.wall_s)
