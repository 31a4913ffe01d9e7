"""Is anybody let in, where people could write?"""

import os
from collections import Counter

from agent.clock import SystemClock
from agent.dispatch.people import People
from agent.dispatch.rank import Rank
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread


async def check(patient: Patient) -> Finding:
    path = patient.state_dir / "people.json"
    if path.exists() and not os.access(path, os.R_OK):
        return Finding.failed(f"{path} cannot be read, so nobody is let in: give it to the agent")
    people = People(path, SystemClock())
    everyone = await in_daemon_thread(people.everyone)
    has_platform = bool(patient.platforms)
    if has_platform and not any(one.rank is Rank.OWNER for one in everyone):
        return Finding.warning(
            "nobody owns the agent over a platform: `barnacle pair` makes a code"
        )
    if not everyone:
        return Finding.ok("nobody is let in but who sits at the machine")
    roles = Counter(one.role for one in everyone)
    return Finding.ok(", ".join(f"{count} {role}" for role, count in roles.items()))
