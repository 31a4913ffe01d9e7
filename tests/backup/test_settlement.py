import json
import time
from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup import unconfirmed
from agent.backup.settlement import settle, settle_jobs
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from agent.schedule.timer_store import TimerStore
from agent.security.approvals import StandingApprovals
from agent.security.audit import lines_of
from agent.system.clock import SystemClock
from tests.fakes.backed_up import BackedUpDevice

NOW_S = time.time()
DAY_S = 86400.0


@pytest.fixture
def device(tmp_path: Path) -> BackedUpDevice:
    found = BackedUpDevice(tmp_path)
    found.fill(NOW_S)
    return found


def test_messages_are_closed_and_told(device: BackedUpDevice) -> None:
    closed = settle(device.state, "greenhouse", NOW_S)
    assert set(device.states("inbox")) == set(device.states("outbox")) == {"restored"}
    assert 'message of 7 on telegram: "pump on": not answered' in closed
    assert 'my message to 7 on telegram: "I water at seven.": not sent' in closed


def test_a_message_whose_turn_had_begun_to_act_is_told_so(device: BackedUpDevice) -> None:
    with device.journal() as db:
        db.execute("UPDATE inbox SET state = 'running', acted = 1")
    assert any("a tool had begun to act" in line for line in settle(device.state, "g", NOW_S))


def test_no_later_message_has_a_number_that_the_old_card_has_used(device: BackedUpDevice) -> None:
    settle(device.state, "greenhouse", NOW_S)
    device.say("hello", "2")
    device.answer("good morning")
    with device.journal() as db:
        for table in ("inbox", "outbox"):
            (number,) = db.execute(f"SELECT max(id) FROM {table}").fetchone()
            assert number > 1_000_000


def test_timers_are_stopped(device: BackedUpDevice) -> None:
    assert "timer of 5 min (tea): stopped" in settle(device.state, "greenhouse", NOW_S)
    assert TimerStore(device.state / "timers.json").every() == []


def test_what_was_always_allowed_asks_again(device: BackedUpDevice) -> None:
    settle(device.state, "greenhouse", NOW_S)
    approvals = StandingApprovals(device.state / "approvals.json", SystemClock())
    assert approvals.every() == []
    assert [*unconfirmed.sentences(device.state)] == ["always allowed: write lamp, gpio_write"]
    assert unconfirmed.confirm(device.state) == 1
    assert [one.call for one in approvals.every()] == ["call-lamp"]


def test_settling_twice_is_the_same(device: BackedUpDevice) -> None:
    settle(device.state, "greenhouse", NOW_S)
    assert settle(device.state, "greenhouse", NOW_S) == ()
    assert len([*unconfirmed.sentences(device.state)]) == 1


def test_the_audit_log_says_that_it_goes_on_from_a_backup(device: BackedUpDevice) -> None:
    (device.state / "audit").mkdir()
    settle(device.state, "greenhouse", NOW_S)
    rows = [json.loads(line) for _, line in lines_of(device.state / "audit")]
    assert rows[-1]["kind"] == "restored"


def settled(device: BackedUpDevice, after_s: float) -> tuple[JobStore, tuple[str, ...]]:
    path = device.state / "jobs.json"
    closed = settle_jobs(path, NOW_S, NOW_S + after_s, UTC)
    return JobStore(path), closed


def test_one_time_that_came_since_is_not_made_up_for(device: BackedUpDevice) -> None:
    jobs, closed = settled(device, DAY_S)
    assert jobs.find("soon").state is State.DONE
    assert "job soon (call Anna): its time came after the backup" in closed


def test_one_time_that_is_still_to_come_stays(device: BackedUpDevice) -> None:
    jobs, closed = settled(device, DAY_S)
    assert jobs.find("later").state is State.WAITING
    assert not any("later" in line for line in closed)


def test_times_of_every_day_go_on_from_now(device: BackedUpDevice) -> None:
    jobs, closed = settled(device, 2 * DAY_S)
    assert jobs.find("daily").seen_s == NOW_S + 2 * DAY_S
    assert any(line.startswith("job daily") for line in closed)
    assert jobs.find("often").ran_s == NOW_S + 2 * DAY_S


def test_a_job_at_work_is_not_followed(device: BackedUpDevice) -> None:
    jobs, closed = settled(device, 60)
    assert jobs.find("begun").result == "open in a backup that was restored: not repeated"
    assert any(line.startswith("job begun") for line in closed)


def test_a_job_that_was_ordered_at_once_waits_for_its_time(device: BackedUpDevice) -> None:
    path = device.state / "jobs.json"
    JobStore(path).change("later", lambda job: replace(job, run_now=True))
    jobs, closed = settled(device, 60)
    assert not jobs.find("later").run_now
    assert any("ordered it at once" in line for line in closed)
