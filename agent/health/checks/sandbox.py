"""Is there a sandbox? Without one no program is run, and documents are read with less care."""

import os

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.security.sandbox_choice import choose

_WITHOUT = "the tools shell and git do not exist, and documents are read in a process with limits"
_AS_ROOT = "; as root it cannot limit how many processes a script starts: use another account"


async def check(patient: Patient) -> Finding:
    choice = await in_daemon_thread(lambda: choose(patient.state_dir))
    if choice.sandbox is None:
        return Finding.warning(f"{choice.trouble}; until then {_WITHOUT}")
    told = f"programs and documents are kept apart by {choice.sandbox.name}"
    # The limit on processes does not hold for root, whatever it is called inside
    if choice.sandbox.name == "bubblewrap" and os.geteuid() == 0:
        return Finding.warning(told + _AS_ROOT)
    return Finding.ok(told)
