import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.cli import exits
from agent.cli.main import main
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from agent.schedule.timer import CountdownTimer, TimerState
from agent.schedule.timer_store import TimerStore
from tests.fakes.job_run import job


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobStore:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return JobStore(tmp_path / "jobs.json")


def test_that_there_are_none_is_said_and_makes_no_file(
    store: JobStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["jobs", "list"]) == exits.OK
    assert capsys.readouterr().out == "There are no jobs.\n"
    assert not (tmp_path / "jobs.json").exists()
    assert store.every() == []


def test_jobs_are_listed_for_people_and_programs(
    store: JobStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add(job(cron="0 8 * * *", person="mei", result="failed: deaf", ran_s=1_800_000_000.0))
    assert main(["jobs", "list"]) == exits.OK
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "tea: at 0 8 * * *, waiting, to fake: Tea!"
    assert shown[2] == "  last at 2027-01-15 08:00: failed: deaf"
    assert main(["jobs", "list", "--json"]) == exits.OK
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["result"]) == ("tea", "failed: deaf")
    assert listed["next"].endswith("T08:00+00:00")


def test_a_job_is_paused_resumed_run_and_removed(
    store: JobStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add(job(every_s=900.0, failures=3, state=State.PAUSED))
    assert main(["jobs", "resume", "tea"]) == exits.OK
    assert (store.find("tea").state, store.find("tea").failures) == (State.WAITING, 0)
    assert main(["jobs", "pause", "tea"]) == exits.OK
    assert store.find("tea").state is State.PAUSED
    assert main(["jobs", "run", "tea"]) == exits.OK
    assert store.find("tea").run_now
    assert main(["jobs", "remove", "tea"]) == exits.OK
    assert store.every() == []
    capsys.readouterr()


@pytest.mark.parametrize("action", ["remove", "pause", "resume", "run"])
def test_what_is_not_there_is_named_with_what_is(
    store: JobStore, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add(job(every_s=900.0))
    assert main(["jobs", action, "coffee"]) == exits.USAGE
    assert "there is no job 'coffee': there are tea" in capsys.readouterr().err


def test_timers_are_listed_with_the_jobs(
    tmp_path: Path, store: JobStore, capsys: pytest.CaptureFixture[str]
) -> None:
    timer = CountdownTimer(
        number=0, seconds=600, channel="fake", target="chat", person="mei", name="tea"
    )
    store.add(job(cron="0 8 * * *"))
    paused = replace(timer, state=TimerState.PAUSED, left_s=90.0)
    TimerStore(tmp_path / "timers.json").add(paused)
    assert main(["jobs", "list"]) == exits.OK
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "timer tea of 10 min: 1 min 30 s left, paused, to fake"
    assert shown[1].startswith("tea: at 0 8 * * *")
    assert main(["jobs", "list", "--json"]) == exits.OK
    assert [one.get("timer") for one in json.loads(capsys.readouterr().out)] == [None, 1]
