"""Is there a screen to take pictures of?"""

from agent.health.base import Finding, Patient
from agent.tools.screenshot import find_display


async def check(patient: Patient) -> Finding:
    """As seen from here: a service has another environment than a person at a desktop."""
    if trouble := find_display(patient.environ).trouble:
        return Finding.ok(f"there is no screenshot: {trouble}")
    return Finding.ok("a screen is there: screenshot takes pictures of it")
