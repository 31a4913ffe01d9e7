"""Probation of a new version: ten healthy minutes without a break, by the service manager.

The agent's own watchdog is told of a pass only after one that has looked at everything; here its
age is what counts. Judges, and does nothing.
"""

import asyncio
import enum
import subprocess
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from agent.system.clock import Clock
from agent.system.programs import run_program

# As long as the worst that shows only after a while: leaks, timers, a platform that stops talking
HEALTHY_S = 600.0
LOOK_S = 10.0
# A database of a slow card may take half an hour to change its form, and a start its time besides
MOST_S = 3600.0
# Ended and begun again more often than this it will not last a night
MAX_RESTARTS = 3
# The unit's own WatchdogSec, and a look's length
FRESH_S = 45.0
# The service manager answers in milliseconds, on a card that is being written in seconds
_ANSWER_S = 60.0
_UNIT = "barnacle.service"
_ASKED = "ActiveState,SubState,NRestarts,Result,WatchdogTimestampMonotonic"


class Health(enum.Enum):
    """Health of a version now."""

    # Started, and its watchdog has heard of a pass just now
    HEALTHY = "healthy"
    # Not yet, or not any more; it may become so
    UNSETTLED = "unsettled"
    # It will not become so by itself
    BROKEN = "broken"


class Sign(Struct, frozen=True):
    """One look; `said` is for people."""

    health: Health
    said: str
    restarts: int = 0


class TrialVerdict(Struct, frozen=True):
    """Verdict of a trial; `reason` if the version is not kept."""

    is_kept: bool
    reason: str = ""


Look = Callable[[], Sign]


async def judge(look: Look, clock: Clock, healthy_s: float = HEALTHY_S) -> TrialVerdict:
    """Look until the verdict is clear."""
    begun_s = clock.monotonic_s()
    healthy_since_s: float | None = None
    restarts = 0
    while True:
        sign = await asyncio.to_thread(look)
        now_s = clock.monotonic_s()
        if sign.health is Health.BROKEN or sign.restarts > MAX_RESTARTS:
            return TrialVerdict(is_kept=False, reason=_why(sign))
        if sign.health is Health.UNSETTLED or sign.restarts != restarts:
            healthy_since_s = None
        restarts = sign.restarts
        if sign.health is Health.HEALTHY:
            healthy_since_s = now_s if healthy_since_s is None else healthy_since_s
            if now_s - healthy_since_s >= healthy_s:
                return TrialVerdict(is_kept=True)
        if now_s - begun_s >= MOST_S:
            return TrialVerdict(is_kept=False, reason=f"not healthy for long enough: {sign.said}")
        await clock.sleep(LOOK_S)


def look_at_service(failed_before: Sequence[str] = ()) -> Sign:
    """Return the state of the agent's service, and of the other units of ours."""
    told = _asked("show", _UNIT, f"--property={_ASKED}")
    shown = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    failed = [unit for unit in failed_units() if unit not in failed_before]
    return sign_of(shown, failed, time.monotonic())


def failed_units() -> list[str]:
    """Units of ours that have failed."""
    listed = _asked("list-units", "--state=failed", "--plain", "--no-legend", "barnacle*")
    return [line.split()[0] for line in listed.splitlines() if line.strip()]


def sign_of(shown: dict[str, str], failed: list[str], now_s: float) -> Sign:
    """Return the meaning of the service's properties.

    Args:
        failed: units of ours that have failed.
        now_s: on the clock that the properties go by.
    """
    restarts = int(shown.get("NRestarts") or 0)
    if failed:
        return Sign(Health.BROKEN, f"{', '.join(failed)} failed", restarts)
    state = shown.get("ActiveState", "unknown")
    if state != "active":
        said = f"{_UNIT} is {state} ({shown.get('SubState', '?')}, {shown.get('Result', '?')})"
        return Sign(Health.UNSETTLED, said, restarts)
    age_s = now_s - int(shown.get("WatchdogTimestampMonotonic") or 0) / 1_000_000
    if age_s > FRESH_S:
        said = f"{_UNIT} has not checked itself for {age_s:.0f} s"
        return Sign(Health.UNSETTLED, said, restarts)
    return Sign(Health.HEALTHY, f"{_UNIT} is healthy", restarts)


def _why(sign: Sign) -> str:
    if sign.health is Health.BROKEN:
        return sign.said
    return f"{_UNIT} had to be restarted {sign.restarts} times"


def _asked(*words: str) -> str:
    """Return the answer of `systemctl`; empty if there is none, which counts as unhealthy."""
    try:
        done = run_program(["systemctl", "--no-pager", *words], _ANSWER_S)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
