from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.schedule.job import MAX_JOBS, Job, State
from agent.schedule.job_store import JobStore
from tests.fakes.job_run import job


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return JobStore(tmp_path / "jobs.json")


def test_jobs_outlive_the_store(store: JobStore, tmp_path: Path) -> None:
    store.add(job(cron="0 8 * * *", stretches=((1.0, 2.0),)))
    assert JobStore(tmp_path / "jobs.json").every() == store.every() != []
    store.remove("tea")
    assert store.every() == []


def test_looking_makes_no_file(store: JobStore, tmp_path: Path) -> None:
    assert store.every() == []
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_taken_once_and_room_ends(store: JobStore) -> None:
    for number in range(MAX_JOBS):
        store.add(job(f"job-{number}", every_s=60))
    with pytest.raises(BadArguments, match="already exists: remove it"):
        store.add(job("job-1", every_s=60))
    with pytest.raises(BadArguments, match=f"{MAX_JOBS} jobs already"):
        store.add(job("more", every_s=60))


def test_a_job_that_is_not_there_is_named_with_those_that_are(store: JobStore) -> None:
    with pytest.raises(BadArguments, match="there are none"):
        store.remove("tea")
    store.add(job("coffee", every_s=60))
    with pytest.raises(BadArguments, match="there are coffee"):
        store.change("tea", lambda one: one)


def test_changes_of_many_threads_are_all_kept(store: JobStore) -> None:
    store.add(job(every_s=60))

    def count(one: Job) -> Job:
        return replace(one, runs=one.runs + 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: store.change("tea", count), range(40)))
    assert store.find("tea").runs == 40


def test_what_makes_no_sense_in_the_file_is_passed_over(store: JobStore, tmp_path: Path) -> None:
    store.add(job(every_s=3600))
    path = tmp_path / "jobs.json"
    path.write_text(path.read_text().replace('"every_s": 3600', '"every_s": 1'))
    assert store.every() == []


def test_what_is_over_makes_room_the_oldest_first(store: JobStore) -> None:
    for number in range(MAX_JOBS - 1):
        store.add(job(f"job-{number}", at_s=1000.0 - number, state=State.DONE))
    store.add(job("daily", cron="0 8 * * *", state=State.PAUSED))
    store.add(job("more", at_s=2000.0))
    store.add(job("still-more", at_s=2000.0))
    names = {one.name for one in store.every()}
    assert len(names) == MAX_JOBS
    assert {"daily", "more", "still-more", "job-0"} <= names
    assert not {f"job-{MAX_JOBS - 2}", f"job-{MAX_JOBS - 3}"} & names


@pytest.mark.parametrize("trust", [-1, 6])
def test_what_nobody_can_be_trusted_with_is_passed_over(
    store: JobStore, tmp_path: Path, trust: int
) -> None:
    store.add(job(every_s=3600))
    path = tmp_path / "jobs.json"
    path.write_text(path.read_text().replace('"trust": 0', f'"trust": {trust}'))
    assert store.every() == []
