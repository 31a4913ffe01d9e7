"""The jobs in words, for a person in a chat or at a terminal."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from agent.schedule.cron import trouble_with
from agent.schedule.due import coming_s
from agent.schedule.job import Job, State
from agent.text.printable import printable_line

# A job's own words are cut: a list is looked over
_SHOWN_CHARS = 120


def told(jobs: Sequence[Job], now_s: float, zone: tzinfo | None = None) -> str:
    """Return each job with its time, its order and its last result."""
    return "\n".join(_sentences(job, now_s, zone) for job in jobs) or "There are no jobs."


def summed_up(jobs: Sequence[Job], now_s: float, zone: tzinfo | None = None) -> str:
    """Return the number of jobs, the next one and failed ones; "" without jobs."""
    coming = [(at_s, job.name) for job in jobs if (at_s := coming_s(job, now_s, zone)) is not None]
    if not jobs:
        return ""
    said = f"{len(coming)} of {len(jobs)} waiting"
    if coming:
        at_s, name = min(coming)
        said += f", next {name} at {moment(at_s, zone)}"
    failed = [job.name for job in jobs if job.failures]
    return f"{said}; failed last: {', '.join(failed)}" if failed else said


def when(job: Job, zone: tzinfo | None) -> str:
    """Return the time as it was ordered."""
    if job.cron:
        return f"at {job.cron}"
    return f"at {moment(job.at_s, zone)}" if job.at_s else f"every {job.every_s / 60:g} min"


def moment(at_s: float, zone: tzinfo | None) -> str:
    return datetime.fromtimestamp(at_s, zone).strftime("%Y-%m-%d %H:%M")


def _sentences(job: Job, now_s: float, zone: tzinfo | None) -> str:
    what = printable_line(job.prompt or job.message, _SHOWN_CHARS)
    lines = [f"{job.name}: {when(job, zone)}, {job.state.value}, to {job.channel}: {what}"]
    if (next_s := coming_s(job, now_s, zone)) is not None:
        lines.append(f"next at {moment(next_s, zone)}")
    elif job.cron and job.state is State.WAITING:
        lines.append(trouble_with(job.cron))
    result = printable_line(job.result, _SHOWN_CHARS)
    if job.ran_s:
        lines.append(f"last at {moment(job.ran_s, zone)}: {result}")
    elif result:
        lines.append(result)
    return "\n  ".join(lines)
