"""Is the time right? A Pi has no battery for its clock: it learns the time from the network."""

import time
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.schedule.trust import RELEASED_S

_EARLIEST_S = RELEASED_S
# Memories are newer than the clock by more than this: it went back
_TOLERANCE_S = 3600
_TIMESYNC = Path("/run/systemd/timesync")


async def check(patient: Patient) -> Finding:
    now_s = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now_s))
    remedy = "connect the network, or set it with `sudo date -s`"
    if now_s < _EARLIEST_S:
        return Finding.failed(
            f"the clock says {shown} UTC, which is long past, and no job of a time runs: {remedy}"
        )
    newest_s = await in_daemon_thread(lambda: _newest_change_s(patient.databases))
    if newest_s > now_s + _TOLERANCE_S:
        return Finding.failed(f"the clock says {shown} UTC, older than what is stored: {remedy}")
    if await in_daemon_thread(_waits_for_the_network):
        return Finding.warning(f"the clock says {shown} UTC and was not set by the network yet")
    return Finding.ok(f"the clock says {shown} UTC")


def _waits_for_the_network() -> bool:
    return _TIMESYNC.is_dir() and not (_TIMESYNC / "synchronized").exists()


def _newest_change_s(files: tuple[Path, ...]) -> float:
    return max((path.stat().st_mtime for path in files if path.exists()), default=0.0)
