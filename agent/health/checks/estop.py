"""Is the emergency stop set?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.security.estop import read_reason


async def check(patient: Patient) -> Finding:
    """While it is set nothing else that is found explains why nothing moves."""
    reason = await in_daemon_thread(lambda: read_reason(patient.state_dir))
    if reason is None:
        return Finding.ok("the emergency stop is not set")
    return Finding.warning(
        f"the emergency stop is set ({reason}): `barnacle estop --clear` lets things move again"
    )
