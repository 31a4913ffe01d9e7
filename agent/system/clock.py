"""Time, as something that can be handed to a part and replaced in its tests.

Durations come from `monotonic_s`; `wall_s` is for what people read and is never subtracted.
"""

import asyncio
import time
from typing import Protocol

# 2026-01-01: this program is younger, so no right clock shows an earlier time
RELEASED_S = 1_767_225_600.0


class Clock(Protocol):
    """Clock of a part."""

    def monotonic_s(self) -> float: ...

    def wall_s(self) -> float: ...

    async def sleep(self, duration_s: float) -> None: ...


async def rest(clock: Clock, duration_s: float) -> None:
    """Sleep so long, and on to the next whole second.

    For looks that have time: all of a second wake the processor once, not each at its own moment.
    """
    over_s = (clock.monotonic_s() + duration_s) % 1.0
    await clock.sleep(duration_s + (1.0 - over_s if over_s else 0.0))


class SystemClock:
    """The machine's own clock."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)
