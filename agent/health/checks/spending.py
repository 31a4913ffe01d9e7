"""Is a limit on what a day may cost reached? Then the model is not asked, and that looks broken."""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread


async def check(patient: Patient) -> Finding:
    spent, reached = await in_daemon_thread(patient.find_spending)
    if reached:
        return Finding.warning(
            f"{reached}: services that cost something are not asked until midnight; set it higher "
            "for more"
        )
    return Finding.ok(f"{spent} today")
