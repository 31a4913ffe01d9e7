"""Checks of the owner's choices: configuration, card, skills, prompt, MCP servers, jobs."""

import asyncio
import stat
from collections.abc import Sequence

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.schedule.job import Job, State
from agent.schedule.job_store import JobStore
from agent.tools.mcp.server import trouble_with
from agent.tools.mcp.servers import pins_in
from agent.tools.skills import skills_of
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFile, ProjectFiles, counted

_FOLDER = "data/device"
# Left by the start of a card, for everybody to read
_REFUSED, _TAKEN_OVER = f"{_FOLDER}/refused", f"{_FOLDER}/taken-over"
# A sentence names a few; `barnacle jobs list` shows all
_NAMED = 3


async def check_settings(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_FOLDER):
        return Finding.ok("not a Barnacle card: `barnacle setup` asks for the settings")
    problems = kernel.text(_REFUSED).splitlines()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding.warning(
            f"the card's settings were rejected: {problems[0]}{more}; correct them on its "
            "first partition and restart the device"
        )
    if not kernel.exists(_TAKEN_OVER):
        return Finding.ok("barnacle.toml on the card's first partition is still empty")
    return Finding.ok("barnacle.toml on the card's first partition is in use")


async def check_config(patient: Patient) -> Finding:
    if patient.refusal:
        more = len(patient.refusal.splitlines()) - 1
        others = f" (and {more} more: run `barnacle check`)" if more else ""
        return Finding.failed(patient.refusal.splitlines()[0] + others)
    path = patient.config
    if path is None:
        return Finding.ok("no configuration file: every key has its default")
    mode = (await in_daemon_thread(path.stat)).st_mode
    if mode & stat.S_IWOTH:
        return Finding.failed(f"every user can change {path}: run `chmod o-w {path}`")
    if patient.holds_key and mode & stat.S_IROTH:
        return Finding.warning(f"every user can read the secrets in {path}: run `chmod 600 {path}`")
    return Finding.ok(f"{path} is valid")


async def check_skills(patient: Patient) -> Finding:
    if patient.workspace is None:
        return Finding.ok("no skills")
    skills = skills_of(patient.workspace, patient.state_dir)
    every = await asyncio.to_thread(skills.every)
    if refused := [f"{one.name}: {one.trouble}" for one in every if one.trouble]:
        return Finding.warning(f"refused: {'; '.join(refused)}")
    if unread := [one.name for one in every if not skills.is_approved(one)]:
        told = ", ".join(unread)
        return Finding.ok(
            f"not approved, so less trusted: {told} (see `barnacle skills show NAME`)"
        )
    return Finding.ok(f"{len(every)} approved" if every else "no skills")


async def check_prompt(patient: Patient) -> Finding:
    identity, every = patient.identity, list[ProjectFile]()
    # Reading there would make the folder: a check changes nothing
    if patient.workspace is not None and await asyncio.to_thread(patient.workspace.is_dir):
        files = ProjectFiles(patient.workspace, patient.state_dir / APPROVALS_FILE, identity)
        every = await asyncio.to_thread(files.every)
    if identity and identity not in {one.name for one in every}:
        return Finding.warning(f"no {identity} in the workspace: add it, or change agent.identity")
    if invalid := next((one for one in every if one.problems), None):
        return Finding.warning(
            f"{invalid.name} is invalid and left out: {invalid.problems[0]} (see `barnacle prompt "
            f"show {invalid.name}`)"
        )
    if left_out := [one.name for one in every if not one.is_approved]:
        told = ", ".join(left_out)
        return Finding.ok(
            f"left out until you approve it: {told} (see `barnacle prompt show NAME`)"
        )
    names = ", ".join(one.name for one in counted(every, identity))
    return Finding.ok(names or "no files of yours in it")


async def check_mcp(patient: Patient) -> Finding:
    """No server is started for this: `barnacle mcp list` asks them."""
    if not patient.mcp:
        return Finding.ok("no MCP servers configured")
    return await asyncio.to_thread(_servers_finding, patient)


def _servers_finding(patient: Patient) -> Finding:
    troubles = {name: trouble_with(settings) for name, settings in patient.mcp.items()}
    if told := [f"{name}: {trouble}" for name, trouble in troubles.items() if trouble]:
        return Finding.failed("; ".join(told))
    pins = pins_in(patient.state_dir / "mcp")
    for name in patient.mcp:
        if held := [pin.offer.tool for pin in pins.of(name).values() if pin.is_held]:
            said = f"{name} changed {', '.join(held)}, so they are not used"
            return Finding.warning(f"{said}: review them with `barnacle mcp approve {name}`")
    if new := [name for name in patient.mcp if not pins.of(name)]:
        said = f"no approved tools of {', '.join(new)}, so they are not used"
        return Finding.warning(f"{said}: review them with `barnacle mcp approve {new[0]}`")
    return Finding.ok(f"{len(patient.mcp)} servers, {_tool_count(patient)} approved tools")


def _tool_count(patient: Patient) -> int:
    pins = pins_in(patient.state_dir / "mcp")
    return sum(len(pins.of(name)) for name in patient.mcp)


async def check_jobs(patient: Patient) -> Finding:
    jobs = await in_daemon_thread(lambda: JobStore(patient.state_dir / "jobs.json").every())
    failed = [job for job in jobs if job.failures]
    if failed:
        return Finding.warning(
            f"{_failures_named(failed)}: see `barnacle jobs list`; `barnacle jobs resume NAME` "
            "resumes a paused job, `barnacle jobs run NAME` runs it now"
        )
    waiting = sum(job.state is State.WAITING for job in jobs)
    paused = sum(job.state is State.PAUSED for job in jobs)
    if not jobs:
        return Finding.ok("no jobs")
    return Finding.ok(f"{waiting} waiting" + (f", {paused} paused" if paused else ""))


def _failures_named(jobs: Sequence[Job]) -> str:
    said = [f"{job.name} ({job.state.value}) {job.result or 'failed'}" for job in jobs[:_NAMED]]
    more = len(jobs) - len(said)
    return "; ".join([*said, *([f"{more} more failed"] if more else [])])
