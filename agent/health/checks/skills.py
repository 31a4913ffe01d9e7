"""Can every skill be used, and does the owner know of each?"""

import asyncio

from agent.health.base import Finding, Patient
from agent.tools.skills import skills_of


async def check(patient: Patient) -> Finding:
    if patient.workspace is None:
        return Finding.ok("no skills")
    skills = skills_of(patient.workspace, patient.state_dir)
    every = await asyncio.to_thread(skills.every)
    if refused := [f"{one.name}: {one.trouble}" for one in every if one.trouble]:
        return Finding.warning(f"refused: {'; '.join(refused)}")
    if unread := [one.name for one in every if not skills.is_approved(one)]:
        told = ", ".join(unread)
        return Finding.ok(f"not approved, so less trusted: {told} (`barnacle skills show NAME`)")
    return Finding.ok(f"{len(every)} approved" if every else "no skills")
