"""Is the emergency stop set?"""

import contextlib
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.security.estop import FILE_NAME, read_reason


async def check(patient: Patient) -> Finding:
    """While it is set nothing else that is found explains why nothing moves."""
    reason = await in_daemon_thread(lambda: _reason(patient.state_dir))
    if reason is None:
        return Finding.ok("the emergency stop is not set")
    return Finding.warning(
        f"the emergency stop is set ({reason}): `barnacle estop --clear` lets things move again"
    )


def _reason(folder: Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        # An agent takes what it cannot look at for a stop; who asks is told that they may not look
        (folder / FILE_NAME).stat()
    return read_reason(folder)
