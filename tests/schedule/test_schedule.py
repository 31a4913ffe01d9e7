import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from msgspec.structs import replace

from agent.schedule.job import MAX_RUNS_A_DAY, Job, State
from agent.schedule.schedule import MAX_FAILURES, JobFailed, Outside
from tests.fakes.job_run import JobRun, job
from tests.fakes.jumping_clock import JumpingClock
from tests.waits import PATIENCE_S, wait_until

START_S = 1_800_000_000.0
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def run(tmp_path: Path) -> JobRun:
    return JobRun(tmp_path, JumpingClock(START_S), UTC)


async def test_what_came_of_a_job_is_kept_with_its_time(run: JobRun) -> None:
    run.store.add(job(at_s=START_S + 60))
    await run.go(120)
    kept = run.store.find("tea")
    assert (kept.state, kept.result, kept.ran_s) == (State.DONE, "sent", START_S + 60)


async def test_what_fails_time_after_time_is_paused_and_told(run: JobRun) -> None:
    run.store.add(job(every_s=60.0, created_s=START_S))
    run.refusal = "the channel is deaf"
    await run.go(3600)
    assert len(run.ran) == MAX_FAILURES
    assert run.store.find("tea").state is State.PAUSED
    assert run.store.find("tea").result == "failed: the channel is deaf"
    assert run.told == [
        "The job tea failed: the channel is deaf",
        "The job tea failed 3 times in a row and is paused: the channel is deaf",
    ]


async def test_a_success_between_failures_counts_anew(run: JobRun) -> None:
    run.store.add(job(every_s=60.0, created_s=START_S, failures=MAX_FAILURES - 1))
    await run.go(90)
    assert run.store.find("tea").failures == 0


async def test_no_job_runs_more_often_on_a_day_than_any_may(run: JobRun) -> None:
    run.store.add(job(cron="* * * * *", seen_s=START_S))
    await run.go(6 * 3600)
    assert len(run.ran) == MAX_RUNS_A_DAY
    assert run.store.find("tea").result == "not run: it reached the daily limit of runs"


async def test_a_person_may_have_a_paused_job_run_once(run: JobRun) -> None:
    run.store.add(job(cron="0 0 1 1 *", seen_s=START_S, state=State.PAUSED))
    await run.go(60)
    run.store.change("tea", lambda one: replace(one, run_now=True))
    await run.go(600)
    assert len(run.ran) == 1
    assert run.store.find("tea").state is State.PAUSED


async def test_a_job_never_runs_twice_at_once(run: JobRun) -> None:
    begun: list[str] = []
    over = asyncio.Event()

    async def lasts(one: Job) -> str:
        begun.append(one.name)
        await over.wait()
        return "over"

    run.store.add(job(every_s=60.0, created_s=START_S))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            await run.clock.sleep(100)
            await run.schedule.look(Outside(lasts, run._tell), tasks)
        assert begun == ["tea"]
        over.set()
    assert run.store.find("tea").result == "over"


async def test_a_job_that_has_the_name_of_a_removed_one_waits_its_own_time(run: JobRun) -> None:
    run.store.add(job(every_s=3600.0, created_s=START_S))
    await run.go(3000)
    run.store.remove("tea")
    run.store.add(job(every_s=3600.0, created_s=run.clock.wall_s()))
    await run.go(3000)
    assert run.ran == []


async def test_a_job_that_was_removed_while_it_ran_ends_nothing(run: JobRun) -> None:
    run.store.add(job(at_s=START_S))

    async def removes(one: Job) -> str:
        run.store.remove(one.name)
        return "done"

    async with asyncio.TaskGroup() as tasks:
        await run.schedule.look(Outside(removes, run._tell), tasks)
    assert run.store.every() == []


@pytest.mark.parametrize("number", ["milk", "2"])
async def test_what_a_person_writes_into_the_file_ends_no_other_job(
    run: JobRun, tmp_path: Path, number: str
) -> None:
    path = tmp_path / "jobs.json"
    run.store.add(job(at_s=START_S + 30.0))
    written = json.loads(path.read_text())
    written["_default"][number] = msgspec.to_builtins(job("milk", at_s=START_S + 30.0))
    path.write_text(json.dumps(written))
    run.store.add(job("bread", at_s=START_S + 30.0))
    await run.go(60)
    assert {"tea", "bread"} <= {name for name, _ in run.ran}
    assert '"milk"' in path.read_text()


async def _cut(run: JobRun) -> None:
    async def is_cut(_one: Job) -> str:
        raise asyncio.CancelledError

    run.store.add(job(at_s=START_S))
    async with asyncio.TaskGroup() as tasks:
        await run.schedule.look(Outside(is_cut, run._tell), tasks)
    assert run.store.find("tea").result == "begun"
    run.restart()


async def test_what_came_of_a_run_that_was_cut_off_is_kept_and_it_runs_no_more(run: JobRun) -> None:
    await _cut(run)
    cut = run.store.find("tea")
    await run.go(600)
    assert (run.ran, run.told) == ([], [])
    assert run.store.find("tea").result == "answered"
    # Once, and as the run that it was
    assert run.followed == [cut]
    assert cut.run_id


async def test_a_run_that_was_cut_off_and_failed_is_told(run: JobRun) -> None:
    await _cut(run)
    run.refusal = "the agent ended before"
    await run.go(600)
    assert run.told == ["The job tea failed: the agent ended before"]
    assert run.store.find("tea").failures == 1


async def test_a_late_reminder_that_was_cut_off_is_not_lost_in_silence(run: JobRun) -> None:
    def is_cut(_text: str, _language: str) -> str:
        raise asyncio.CancelledError

    run.store.add(job(at_s=START_S - 7200.0, language="en"))
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.TaskGroup() as tasks:
            await run.schedule.look(Outside(run._perform, run._tell, late=is_cut), tasks)
    run.restart()
    run.refusal = "the agent ended before"
    await run.go(600)
    assert run.told == ["The job tea failed: the agent ended before"]


async def test_each_run_has_a_name_of_its_own(run: JobRun) -> None:
    run.store.add(job(every_s=60.0, created_s=START_S))
    await run.go(90)
    first = run.store.find("tea").run_id
    await run.go(90)
    assert "" != first != run.store.find("tea").run_id != ""


async def test_what_was_told_already_is_told_only_when_it_is_paused(run: JobRun) -> None:
    async def fails(_one: Job) -> str:
        raise JobFailed("no answer", is_told=True)

    run.store.add(job(every_s=60.0, created_s=START_S))
    for _ in range(MAX_FAILURES):
        await run.clock.sleep(100)
        async with asyncio.TaskGroup() as tasks:
            await run.schedule.look(Outside(fails, run._tell), tasks)
    assert run.told == ["The job tea failed 3 times in a row and is paused: no answer"]


async def test_a_job_is_looked_at_as_its_time_comes_and_as_it_is_changed(tmp_path: Path) -> None:
    run = JobRun(tmp_path, JumpingClock(START_S + 45.0), UTC)
    outside = Outside(run._perform, run._tell)
    async with asyncio.TaskGroup() as tasks:
        # START_S begins a minute
        assert await run.schedule.look(outside, tasks) == 15.0
        run.store.add(job(at_s=START_S + 48.0))
        assert await run.schedule.look(outside, tasks) == 3.0
        run.clock.jump(-30.0)
        assert await run.schedule.look(outside, tasks) == 30.0


async def test_whoever_changes_a_job_need_not_wait(run: JobRun) -> None:
    performed = asyncio.Event()

    async def performs(_one: Job) -> str:
        performed.set()
        return "sent"

    running = asyncio.create_task(run.schedule.run(Outside(performs, run._tell)))
    await wait_until(lambda: run.schedule._changed._waiters)
    run.store.add(job(cron="0 0 1 1 *", seen_s=START_S, run_now=True))
    run.schedule.wake()
    async with asyncio.timeout(PATIENCE_S):
        await performed.wait()
    running.cancel()
    await asyncio.wait([running])


async def test_a_file_that_cannot_be_read_for_a_while_ends_nothing(
    run: JobRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run.store.add(job(at_s=START_S + 600.0))
    path, kept = tmp_path / "jobs.json", tmp_path / "kept"
    path.rename(kept)
    # Reading it fails as on a card that is worn
    path.mkdir()
    await run.go(300)
    path.rmdir()
    kept.rename(path)
    await run.go(400)
    assert run.ran == [("tea", START_S + 600.0)]
    assert caplog.text.count("jobs not read") == 1


async def test_what_a_person_changes_while_others_begin_holds(
    run: JobRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = run.store.change

    def slowly(name: str, how: Callable[[Job], Job]) -> Job:
        if name == "bread":
            change("tea", lambda one: replace(one, state=State.PAUSED))
        return change(name, how)

    run.store.add(job("bread", at_s=START_S))
    run.store.add(job("tea", at_s=START_S))
    with monkeypatch.context() as patched:
        patched.setattr(run.store, "change", slowly)
        async with asyncio.TaskGroup() as tasks:
            await run.schedule.look(Outside(run._perform, run._tell), tasks)
    await run.go(60)
    assert [name for name, _ in run.ran] == ["bread"]
    assert run.store.find("tea").state is State.PAUSED


async def test_a_day_of_twenty_five_hours_has_its_last_hour_too(tmp_path: Path) -> None:
    begin_s = datetime(2026, 10, 25, tzinfo=BERLIN).timestamp()
    run = JobRun(tmp_path, JumpingClock(begin_s), BERLIN)
    run.store.add(job(cron="*/15 * * * *", seen_s=begin_s - 1))
    await run.go(25 * 3600)
    assert run.times()[-1] == "10-25 23:45"
    assert len(run.ran) == 100
