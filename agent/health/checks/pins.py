"""Can the configured pins of this machine be used?"""

from agent.health.base import Finding, Patient
from agent.peripherals.gpio import trouble_with_pins


async def check(patient: Patient) -> Finding:
    """Without trying: the pins belong to the agent that is at work."""
    if not patient.pins:
        return Finding.ok("no [pins]: no pin of this machine is a tool")
    names = ", ".join(f"{name} (GPIO {pin.gpio})" for name, pin in patient.pins.items())
    if trouble := trouble_with_pins(patient.devices):
        return Finding.warning(f"there are no gpio tools: {trouble}")
    return Finding.ok(f"{names} can be asked for")
