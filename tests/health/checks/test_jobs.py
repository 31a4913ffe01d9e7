from agent.health.base import Level, Patient
from agent.health.checks import jobs
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from tests.fakes.job_run import job


async def test_without_jobs_there_is_nothing_to_do_and_no_file(patient: Patient) -> None:
    found = await jobs.check_jobs(patient)
    assert (found.level, found.sentence) == (Level.OK, "no jobs")
    assert not patient.state_dir.exists()


async def test_those_that_wait_and_rest_are_counted(patient: Patient) -> None:
    store = JobStore(patient.state_dir / "jobs.json")
    store.add(job("a", every_s=900.0))
    store.add(job("b", every_s=900.0, state=State.PAUSED))
    found = await jobs.check_jobs(patient)
    assert (found.level, found.sentence) == (Level.OK, "1 waiting, 1 paused")


async def test_what_fails_is_named_with_the_remedy(patient: Patient) -> None:
    store = JobStore(patient.state_dir / "jobs.json")
    for name in "abcde":
        store.add(job(name, every_s=900.0, failures=1, result="failed: the channel is deaf"))
    found = await jobs.check_jobs(patient)
    assert found.level is Level.WARNING
    assert "a (waiting) failed: the channel is deaf" in found.sentence
    assert "2 more failed" in found.sentence
    assert "barnacle jobs resume" in found.sentence
