"""Time, as something that can be handed to a part and replaced in its tests.

Durations come from `monotonic_s`; `wall_s` is for what people read and is never subtracted.
"""

import asyncio
import time
from typing import Protocol

# 2026-01-01: this program is younger, so no right clock shows an earlier time
RELEASED_S = 1_767_225_600.0
# Moments of all looks, this far apart: the shortest time between two looks of an idle agent
SHARED_S = 2.0
# A timer may ring this much too early; without it that look would come twice
_EARLY_S = 0.05


class Clock(Protocol):
    """Clock of a part."""

    def monotonic_s(self) -> float: ...

    def wall_s(self) -> float: ...

    async def sleep(self, duration_s: float) -> None: ...


async def rest(clock: Clock, at_most_s: float) -> None:
    """Sleep on to the last shared moment within this time; all of it where there is none.

    For looks that come again and again: those of one moment wake the processor once.
    """
    now_s = clock.monotonic_s()
    end_s = (now_s + at_most_s + _EARLY_S) // SHARED_S * SHARED_S
    await clock.sleep(end_s - now_s if end_s > now_s + _EARLY_S else at_most_s)


class SystemClock:
    """The machine's own clock."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)
