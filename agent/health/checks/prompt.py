"""Are the owner's files in the prompt?"""

import asyncio

from agent.dispatch.project import APPROVALS_FILE, ProjectFiles
from agent.health.base import Finding, Patient


async def check(patient: Patient) -> Finding:
    # Reading there would make the folder: a check changes nothing
    if patient.workspace is None or not await asyncio.to_thread(patient.workspace.is_dir):
        return Finding.ok("nothing of yours in it")
    files = ProjectFiles(patient.workspace, patient.state_dir / APPROVALS_FILE)
    every = await asyncio.to_thread(files.every)
    if left_out := [one.name for one in every if not one.is_approved]:
        told = ", ".join(left_out)
        return Finding.ok(f"left out until you approve it: {told} (`barnacle prompt show NAME`)")
    return Finding.ok(", ".join(one.name for one in every) or "nothing of yours in it")
