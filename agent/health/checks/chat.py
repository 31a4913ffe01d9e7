"""Does an agent run here that `barnacle chat` attaches to?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread


async def check(patient: Patient) -> Finding:
    if await in_daemon_thread(patient.takes_terminals):
        return Finding.ok("an agent runs: `barnacle chat` attaches to it")
    return Finding.ok("no agent runs: `barnacle chat` is one by itself, for as long as it is open")
