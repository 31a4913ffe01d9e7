"""Files of documents that commands and the running agent change at the same time."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.schedule.job import Job, State
from agent.schedule.job_store import JobStore
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.system.clock import SystemClock
from agent.tools.mcp.approvals import ApprovedTools
from agent.tools.mcp.offer import ToolOffer
from agent.tools.skill_folder import Skill
from agent.tools.skills import SkillApprovals
from tests.fakes.job_run import job

WRITERS, EACH = 4, 10
# A command of the owner, in a process of its own
COUNT = """
import pathlib, sys
from msgspec.structs import replace
from agent.schedule.job_store import JobStore
store = JobStore(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    store.change("tea", lambda job: replace(job, runs=job.runs + 1))
"""


def add_job(path: Path, name: str) -> None:
    JobStore(path).add(job(name, every_s=3600))


def add_standing(path: Path, name: str) -> None:
    approvals = StandingApprovals(path, SystemClock())
    kept = StandingApproval(call=name, tool="pump", arguments="{}", until_s=approvals.end_s())
    approvals.add(kept)


def add_skill(path: Path, name: str) -> None:
    SkillApprovals(path).add(Skill(name, "waters", {}, "a" * 64, ""))


def add_tool(path: Path, name: str) -> None:
    offer = ToolOffer("garden", name, f"mcp_garden_{name}", "Tell it.", {}, "a" * 64)
    ApprovedTools(path).approve([offer])


@pytest.mark.parametrize("add", [add_job, add_standing, add_skill, add_tool])
def test_what_several_writers_add_at_once_is_all_kept(
    tmp_path: Path, add: Callable[[Path, str], None]
) -> None:
    """Each writer has a store of its own, as each process has."""
    path = tmp_path / "kept.json"

    def write(writer: int) -> None:
        for number in range(EACH):
            add(path, f"n{writer}-{number}")

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write, range(WRITERS)))
    assert len(json.loads(path.read_text())["_default"]) == WRITERS * EACH


def test_an_approval_that_is_revoked_while_another_is_given_does_not_come_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "approvals.json"

    def give(number: int) -> None:
        add_standing(path, f"given-{number}")

    def give_and_revoke(number: int) -> None:
        add_standing(path, f"revoked-{number}")
        StandingApprovals(path, SystemClock()).revoke([f"revoked-{number}"])

    with ThreadPoolExecutor(2) as both:
        both.map(give, range(EACH))
        list(both.map(give_and_revoke, range(EACH)))
    kept = {one.call for one in StandingApprovals(path, SystemClock()).every()}
    assert kept == {f"given-{number}" for number in range(EACH)}


def test_a_job_that_is_paused_by_a_command_is_not_resumed_by_the_agents_note_of_a_run(
    tmp_path: Path,
) -> None:
    agents, commands = JobStore(tmp_path / "jobs.json"), JobStore(tmp_path / "jobs.json")
    agents.add(job(every_s=3600))

    def pause() -> None:
        commands.change("tea", lambda one: replace(one, state=State.PAUSED))

    with ThreadPoolExecutor(1) as command:

        def note(one: Job) -> Job:
            # The command comes when the agent has read the file and not yet written it
            asked = command.submit(pause)
            while not asked.running() and not asked.done():
                pass
            return replace(one, runs=one.runs + 1)

        agents.change("tea", note)
    kept = agents.find("tea")
    assert (kept.state, kept.runs) == (State.PAUSED, 1)


def test_changes_of_two_processes_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    store = JobStore(path)
    store.add(job(every_s=3600))
    with subprocess.Popen(
        [sys.executable, "-c", COUNT, str(path), str(EACH)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        other.stdin.write("\n")
        other.stdin.flush()
        for _ in range(EACH):
            store.change("tea", lambda one: replace(one, runs=one.runs + 1))
        assert other.wait() == 0
    assert store.find("tea").runs == 2 * EACH
