import json
import os
from pathlib import Path

import msgspec
import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.health.status import (
    AgentStatus,
    BoardReport,
    ChannelReport,
    own_start_ticks,
    write_status,
)
from agent.messaging.journal import open_agent_db
from agent.providers.spending import SpendingLedger, Spent
from agent.schedule.job_store import JobStore
from agent.system.clock import SystemClock
from tests.fakes.job_run import job


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def of_this_program(**said: object) -> AgentStatus:
    return AgentStatus(
        pid=os.getpid(),
        start_ticks=said.pop("start_ticks", own_start_ticks()),
        since_s=1_800_000_000.0,
        provider="offline",
        board=BoardReport("ready", "/dev/ttyACM0", "blackpill", "0.1.0"),
        channels=(ChannelReport("terminal"), ChannelReport("telegram", "no network")),
        memory="3 memories wait for their vectors",
        last_error="the \x1b[31mmodel was away",
        last_error_at_s=1_800_000_001.0,
    )


def test_no_agent_is_said_with_the_way_to_one(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == exits.OK
    said = capsys.readouterr().out
    assert "not running" in said
    assert str(state) in said
    assert not state.exists()


def test_a_running_agent_is_told(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(state / "status.json", of_this_program())
    assert main(["status"]) == exits.OK
    said = capsys.readouterr().out
    assert f"pid {os.getpid()}" in said
    assert "telegram: no network" in said
    assert "3 memories wait" in said
    assert "blackpill on /dev/ttyACM0" in said
    assert "\x1b" not in said


def test_storage_that_takes_nothing_is_told(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "the data partition is not in use (its file system is damaged): I store nothing"
    write_status(state / "status.json", msgspec.structs.replace(of_this_program(), storage=said))
    assert main(["status"]) == exits.OK
    assert said in capsys.readouterr().out


def test_an_agent_that_died_is_not_running(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(state / "status.json", of_this_program(start_ticks=1))
    main(["status"])
    assert "not running" in capsys.readouterr().out


def test_a_program_gets_all_of_it(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(state / "status.json", of_this_program())
    main(["status", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["running"] is True
    assert said["agent"]["board"]["state"] == "ready"
    assert said["agent"]["last_error"] == "the \x1b[31mmodel was away"


async def test_what_today_has_cost_is_told_whoever_runs(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = open_agent_db(state / "agent.db")
    await SpendingLedger(journal, SystemClock()).add("a", Spent(3, 1000, 200, 0, 50, 0.0123))
    await journal.aclose()
    assert main(["status"]) == exits.OK
    said = capsys.readouterr().out
    assert "3 requests, 1,200 tokens, 0.0123 USD (price unknown for 50 tokens)" in said
    main(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["spent_today"]["requests"] == 3


def test_without_a_journal_nothing_was_spent_and_none_is_made(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["status"])
    assert "spent" not in capsys.readouterr().out
    main(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["spent_today"] is None
    assert not state.exists()


def test_a_damaged_report_is_no_agent(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state.mkdir()
    (state / "status.json").write_text('{"pid": [')
    assert main(["status", "--json"]) == exits.OK
    assert json.loads(capsys.readouterr().out)["agent"] is None


def test_jobs_are_told_whoever_runs(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    JobStore(state / "jobs.json").add(job(cron="0 8 * * *", failures=1))
    assert main(["status"]) == exits.OK
    assert "1 of 1 waiting, next tea at " in capsys.readouterr().out
