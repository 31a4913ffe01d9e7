"""Is the supply strong enough, and does heat slow the processor down?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.computer import HOT_C
from agent.machine.power import SLOWED, UNDER_VOLTAGE
from agent.machine.readings import Readings

_SUPPLY = (
    "use the supply made for this Pi and a short cable, and power hungry devices by themselves"
)
_UNDER_VOLTAGE_BEFORE = "under-voltage since start"


async def check(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient.readings))


def _finding(readings: Readings) -> Finding:
    throttled, heat = readings.throttled(), readings.temperature_c()
    warm = "" if heat is None else f", the processor has {heat:g} °C"
    told = throttled or ()
    if UNDER_VOLTAGE in told:
        return Finding.failed(f"the voltage is too low now: {_SUPPLY}")
    if _UNDER_VOLTAGE_BEFORE in told:
        return Finding.warning(f"the voltage was too low since the start: {_SUPPLY}")
    if SLOWED.intersection(told) or (heat is not None and heat >= HOT_C):
        return Finding.warning(
            f"it is too hot and therefore slow{warm}: give it air or a heat sink"
        )
    if throttled is None:
        return Finding.ok(f"the kernel here does not tell of the voltage{warm}")
    before = f" ({', '.join(told)})" if told else ""
    return Finding.ok(f"the voltage is right{warm}{before}")
