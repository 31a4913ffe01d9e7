"""Checks of approved texts: files of the prompt, and skills."""

import asyncio

from agent.health.base import Finding, Patient
from agent.tools.skills import skills_of
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles


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
    # Reading there would make the folder: a check changes nothing
    if patient.workspace is None or not await asyncio.to_thread(patient.workspace.is_dir):
        return Finding.ok("no files of yours in it")
    files = ProjectFiles(patient.workspace, patient.state_dir / APPROVALS_FILE)
    every = await asyncio.to_thread(files.every)
    if left_out := [one.name for one in every if not one.is_approved]:
        told = ", ".join(left_out)
        return Finding.ok(
            f"left out until you approve it: {told} (see `barnacle prompt show NAME`)"
        )
    return Finding.ok(", ".join(one.name for one in every) or "no files of yours in it")
