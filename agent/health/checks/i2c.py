"""Can the configured I2C devices of this machine be spoken to?"""

from agent.health.base import Finding, Patient
from agent.peripherals.i2c import trouble_with_buses


async def check(patient: Patient) -> Finding:
    """The buses alone: `i2c_scan` finds out who is there."""
    if not patient.i2c:
        return Finding.ok("no [i2c]: no device on a bus of this machine is a tool")
    if trouble := trouble_with_buses(patient.devices):
        return Finding.warning(f"there are no i2c tools: {trouble}")
    absent = [
        f"{name} (/dev/i2c-{device.bus})"
        for name, device in patient.i2c.items()
        if not (patient.devices / f"i2c-{device.bus}").exists()
    ]
    if absent:
        return Finding.warning(f"on a bus that is not here: {', '.join(absent)}")
    return Finding.ok(f"{', '.join(patient.i2c)} can be asked for")
