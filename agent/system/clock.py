"""Time, as something that can be handed to a part and replaced in its tests.

Durations come from `monotonic_s`; `wall_s` is for what people read and is never subtracted.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Clock of a part."""

    def monotonic_s(self) -> float: ...

    def wall_s(self) -> float: ...

    async def sleep(self, duration_s: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)
