"""Can the enable lines of the boards be driven?"""

from agent.health.base import Finding, Patient
from agent.peripherals.enable import missing_library


async def check(patient: Patient) -> Finding:
    """The library alone: the pins themselves belong to the agent that is at work."""
    if not patient.enable_gpios:
        return Finding.ok("no pin of this machine enables the outputs of a board")
    pins = ", ".join(f"GPIO {gpio}" for gpio in patient.enable_gpios)
    if trouble := missing_library():
        return Finding.failed(f"{pins}: {trouble}")
    return Finding.ok(f"the power of the outputs is enabled by {pins}")
