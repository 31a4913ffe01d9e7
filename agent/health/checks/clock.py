"""Is the time right? A Pi has no battery for its clock: it learns the time from the network."""

import time
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.kernel import Kernel
from agent.schedule.trust import RELEASED_S

_EARLIEST_S = RELEASED_S
# Memories are newer than the clock by more than this: it went back
_TOLERANCE_S = 3600
# Nobody keeps one program for as long: a clock that is further ahead was set wrong
_LATEST_S = RELEASED_S + 30 * 365 * 86_400
_TIMESYNC = "run/systemd/timesync"


async def check(patient: Patient) -> Finding:
    now_s = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now_s))
    remedy = "connect the network, or set it with `sudo date -s`"
    if now_s < _EARLIEST_S:
        return Finding.failed(
            f"the clock says {shown} UTC, which is long past, and no job of a time runs: {remedy}"
        )
    if now_s > _LATEST_S:
        return Finding.failed(f"the clock says {shown} UTC, which is far ahead: {remedy}")
    newest_s = await in_daemon_thread(lambda: _newest_change_s(patient.databases))
    if newest_s > now_s + _TOLERANCE_S:
        return Finding.failed(f"the clock says {shown} UTC, older than what is stored: {remedy}")
    if _waits_for_the_network(patient.readings.kernel):
        return Finding.warning(
            f"the clock says {shown} UTC and was not set by the network yet: connect it; "
            "`timedatectl` shows whom it asks"
        )
    return Finding.ok(f"the clock says {shown} UTC")


def _waits_for_the_network(kernel: Kernel) -> bool:
    return kernel.exists(_TIMESYNC) and not kernel.exists(f"{_TIMESYNC}/synchronized")


def _newest_change_s(files: tuple[Path, ...]) -> float:
    return max((path.stat().st_mtime for path in files if path.exists()), default=0.0)
