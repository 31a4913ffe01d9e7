"""Check of the scheduled jobs and their last results."""

from collections.abc import Sequence

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.schedule.job import Job, State
from agent.schedule.job_store import JobStore

# A sentence names a few; `barnacle jobs list` shows all
_NAMED = 3


async def check_jobs(patient: Patient) -> Finding:
    jobs = await in_daemon_thread(lambda: JobStore(patient.state_dir / "jobs.json").every())
    failed = [job for job in jobs if job.failures]
    if failed:
        return Finding.warning(
            f"{_named(failed)}: see `barnacle jobs list`; `barnacle jobs resume NAME` "
            "resumes a paused job, `barnacle jobs run NAME` runs it now"
        )
    waiting = sum(job.state is State.WAITING for job in jobs)
    paused = sum(job.state is State.PAUSED for job in jobs)
    if not jobs:
        return Finding.ok("no jobs")
    return Finding.ok(f"{waiting} waiting" + (f", {paused} paused" if paused else ""))


def _named(jobs: Sequence[Job]) -> str:
    said = [f"{job.name} ({job.state.value}) {job.result or 'failed'}" for job in jobs[:_NAMED]]
    more = len(jobs) - len(said)
    return "; ".join([*said, *([f"{more} more failed"] if more else [])])
