"""Runs of the past are those that the schedule at work would have made, through changes of time."""

from datetime import datetime
from pathlib import Path

import pytest

from agent.schedule.job import MAX_RUNS_A_DAY, Job
from agent.schedule.job_store import JobStore
from agent.schedule.past_runs import past_runs
from scripts.lib.bench.job_cases import BERLIN, random_job, scheduled

HOUR_S = 3600.0
DAY_S = 86_400.0


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=BERLIN).timestamp()  # type: ignore[arg-type, misc]


def job(name: str = "job", **when: object) -> Job:
    made = {"channel": "fake", "target": "4711", "person": "owner", "prompt": "x", **when}
    return Job(name=name, **made)  # type: ignore[arg-type]


def local(times: list[float]) -> list[str]:
    return [f"{datetime.fromtimestamp(one, BERLIN):%d %H:%M}" for one in times]


def test_a_job_of_every_day_ran_once_on_each() -> None:
    runs = past_runs(job(cron="0 7 * * *"), at(2026, 11, 1, 12, 0), at(2026, 11, 4, 12, 0), BERLIN)
    assert local(runs) == ["02 07:00", "03 07:00", "04 07:00"]


def test_an_hour_that_comes_twice_runs_once() -> None:
    begin_s, end_s = at(2026, 10, 24, 12, 0), at(2026, 10, 26, 12, 0)
    runs = past_runs(job(cron="30 2 * * *"), begin_s, end_s, BERLIN)
    assert local(runs) == ["25 02:30", "26 02:30"]


def test_an_hour_that_does_not_come_runs_after_the_gap() -> None:
    begin_s, end_s = at(2026, 3, 28, 12, 0), at(2026, 3, 30, 12, 0)
    runs = past_runs(job(cron="30 2 * * *"), begin_s, end_s, BERLIN)
    assert local(runs) == ["29 03:00", "30 02:30"]


def test_an_interval_runs_at_looks() -> None:
    begin_s = at(2026, 11, 1, 12, 0) + 17
    runs = past_runs(job(every_s=900.0), begin_s, begin_s + 3600, BERLIN)
    assert [one - begin_s for one in runs] == [913.0, 1813.0, 2713.0]


def test_more_than_the_most_of_a_day_do_not_run() -> None:
    begin_s = at(2026, 11, 1, 0, 0)
    runs = past_runs(job(every_s=60.0), begin_s, begin_s + DAY_S, BERLIN)
    assert len(runs) == MAX_RUNS_A_DAY


def test_one_that_comes_once_has_no_past() -> None:
    assert past_runs(job(at_s=at(2026, 11, 1, 12, 0)), 0.0, at(2027, 1, 1, 0, 0), BERLIN) == []


@pytest.mark.parametrize("begin", [(2026, 3, 28, 23, 0), (2026, 10, 24, 23, 0)])
async def test_random_jobs_run_as_the_schedule_at_work_runs_them(
    tmp_path: Path, begin: tuple[int, ...]
) -> None:
    begin_s = at(*begin) + 17
    end_s = begin_s + 5 * HOUR_S
    jobs = [random_job(seed, begin_s) for seed in range(12)]
    live = await scheduled(jobs, begin_s, end_s, JobStore(tmp_path / "jobs.json"))
    assert live == {one.name: past_runs(one, begin_s, end_s, BERLIN) for one in jobs}
    assert sum(map(len, live.values()))
