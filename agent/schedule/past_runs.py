"""Runs that a job would have had in a span of the past, by the schedule's own code.

Pure, in virtual time: the clock leaps to the minute in which the job may be due next, and from
there goes from look to look as the schedule does.
"""

from datetime import tzinfo

from msgspec.structs import replace

from agent.schedule.due import ClockReading, DueVerdict, coming_s, looked_at, pause_s
from agent.schedule.job import Job, State

_MINUTE_S = 60.0


def past_runs(job: Job, begin_s: float, end_s: float, zone: tzinfo | None) -> list[float]:
    """Return the times, had it been made at the beginning; none for one that comes once."""
    if job.at_s:
        return []
    job = replace(
        job,
        state=State.WAITING,
        created_s=begin_s,
        seen_s=begin_s if job.cron else 0.0,
        ran_s=0.0,
        stretches=(),
        run_now=False,
    )
    runs: list[float] = []
    # The monotonic clock never differs here: nobody sets the other one
    since_s = now_s = begin_s
    while (next_s := _next_look_s(job, now_s, zone)) is not None and next_s < end_s:
        now_s = next_s
        verdict, after = looked_at(job, ClockReading(now_s, now_s, zone), now_s - since_s)
        if verdict is not DueVerdict.WAIT:
            job = after
        if verdict in {DueVerdict.RUN, DueVerdict.CAPPED}:
            since_s = now_s
        if verdict is DueVerdict.RUN:
            runs.append(now_s)
    return runs


def _next_look_s(job: Job, now_s: float, zone: tzinfo | None) -> float | None:
    """Return the next look that may find the job due."""
    due_s = coming_s(job, now_s, zone)
    if due_s is None:
        return None
    # Each minute begins with a look
    return max(now_s + pause_s(now_s), due_s - due_s % _MINUTE_S)
