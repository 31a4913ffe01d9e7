"""Rehearsal of a job: when the schedule would have run it, and what its order had come to."""

import asyncio
from datetime import tzinfo

from agent.readings.rehearsal import last_days
from agent.schedule.job import Job
from agent.schedule.past_runs import past_runs
from agent.tools.base import Forecast
from agent.tools.order_rehearsal import OrderRehearsal
from agent.tools.rehearsal_words import Occurrences

_MS = 1000


async def foreseen(
    job: Job, rehearsal: OrderRehearsal, now_s: float, zone: tzinfo | None
) -> Forecast | None:
    """Return what the job would have done in the last weeks; None if there is nothing to tell."""
    span = last_days(now_s)
    runs = await asyncio.to_thread(past_runs, job, span.begin_ms / _MS, span.end_ms / _MS, zone)
    # One that comes once has no past, but may contradict a reflex
    times_ms = [round(at_s * _MS) for at_s in runs]
    found = None if job.at_s else Occurrences("run", job.name, times_ms, span)
    forecast = await rehearsal.forecast(found, job.prompt, job.language)
    return forecast if forecast.words else None
