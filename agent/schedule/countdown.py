"""Running timers: each acts once at its end, and says so if that is late.

What a timer says is kept before the timer goes: after a crash it may be said twice, never not at
all. What a timer does is the other way round: it counts as done before it begins.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec import Struct

from agent.errors import BarnacleError
from agent.schedule.job import Job
from agent.schedule.schedule import Perform, Tell
from agent.schedule.timer import LATE_S, CountdownTimer, Instant, TimerState, TimerWords, left_s
from agent.schedule.timer_store import TimerStore
from agent.schedule.trust import is_trusted
from agent.system.clock import Clock
from agent.system.repeats import RepeatedTrouble

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id(path: Path = _BOOT_ID) -> str:
    """Return an id that changes with each start of the kernel; "" if it is unknown."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


_log = logging.getLogger(__name__)

# A wall clock that is set meanwhile is seen so soon
LOOK_S = 30.0
# However often timers are changed
_SOONEST_S = 0.05


def now(clock: Clock, boot: str) -> Instant:
    wall_s = clock.wall_s()
    return Instant(wall_s, clock.monotonic_s(), boot, is_trusted(wall_s))


class Outlet(Struct, frozen=True):
    """Outputs of timers.

    Args:
        words: by language.
        tell: says to the owner what came to nothing.
    """

    perform: Perform
    tell: Tell
    words: Callable[[str], TimerWords]


class Countdown:
    """Watches every timer while `run` is at work."""

    def __init__(self, store: TimerStore, clock: Clock, boot: str | None = None) -> None:
        self._store = store
        self._clock = clock
        self._boot = boot_id() if boot is None else boot
        # As they were when they ended: one that is changed meanwhile goes on, and a new one may
        # have the number of one that is gone
        self._saying: set[CountdownTimer] = set()
        self._changed = asyncio.Event()
        self._trouble = RepeatedTrouble(_log)

    def now(self) -> Instant:
        return now(self._clock, self._boot)

    def wake(self) -> None:
        """Look at once, because a timer changed."""
        self._changed.set()

    async def run(self, outlet: Outlet) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                soonest_s = await self.look(outlet, tasks)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(soonest_s, _SOONEST_S)):
                        await self._changed.wait()

    async def look(self, outlet: Outlet, tasks: asyncio.TaskGroup) -> float:
        """End due timers; return the seconds until the next look."""
        soonest_s = LOOK_S
        moment = self.now()
        try:
            timers = await asyncio.to_thread(self._store.every)
        except OSError as err:
            # A card that is worn: whatever else the agent does goes on
            self._trouble.met(f"timers not read: {err}", logging.ERROR)
            return soonest_s
        self._trouble.over()
        for timer in timers:
            if timer.state is TimerState.PAUSED or timer in self._saying:
                continue
            left = left_s(timer, moment)
            if left > 0:
                soonest_s = min(soonest_s, left)
                continue
            self._saying.add(timer)
            tasks.create_task(self._end(timer, -left, outlet))
        return soonest_s

    async def _end(self, timer: CountdownTimer, late_s: float, outlet: Outlet) -> None:
        # The first one loads a language, which takes longer than a lease renewal may
        words = await asyncio.to_thread(outlet.words, timer.language)
        is_late = late_s >= LATE_S
        said = words.missed(timer, late_s) if is_late else words.ended(timer)
        acts = bool(timer.order) and not is_late
        job = _job(timer, prompt=timer.order) if acts else _job(timer, message=said)
        try:
            if acts:
                await self._forget(timer)
            await outlet.perform(job)
        except (BarnacleError, OSError) as err:
            _log.error("timer: action failed (number=%d): %s", timer.number, err)
            await outlet.tell(f"{said} ({err})")
        if not acts:
            await self._forget(timer)

    async def _forget(self, timer: CountdownTimer) -> None:
        """Remove the timer; this agent does not repeat one that stays."""
        try:
            await asyncio.to_thread(self._store.forget, timer)
        except (BarnacleError, OSError) as err:
            _log.error("timer: removal failed (number=%d): %s", timer.number, err)
        else:
            self._saying.discard(timer)


def _job(timer: CountdownTimer, *, message: str = "", prompt: str = "") -> Job:
    return Job(
        name=f"timer-{timer.number}",
        channel=timer.channel,
        target=timer.target,
        thread=timer.thread,
        sender=timer.sender,
        is_group=timer.is_group,
        person=timer.person,
        trust=timer.trust,
        # It has no time of its own: its end is now
        every_s=max(timer.seconds, _LEAST_JOB_S),
        message=message,
        prompt=prompt,
    )


# No job comes more often
_LEAST_JOB_S = 60.0
