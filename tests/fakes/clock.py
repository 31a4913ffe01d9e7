"""A clock that moves only when a part sleeps on it or a test turns it, and one in haste."""

import asyncio
import time


class SteppedClock:
    """Sleeping advances the time at once; no test waits for real time."""

    def __init__(self, wall_s: float = 1_800_000_000.0) -> None:
        self._now_s = 0.0
        self._wall_offset_s = wall_s
        self.slept_s: list[float] = []

    def monotonic_s(self) -> float:
        return self._now_s

    def wall_s(self) -> float:
        return self._wall_offset_s + self._now_s

    def advance(self, duration_s: float) -> None:
        self._now_s += duration_s

    async def sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        self._now_s += duration_s
        await asyncio.sleep(0)


class StandingClock(SteppedClock):
    """The same for what goes on by itself: sleeping costs nothing, and the time of day stands.

    Whatever sleeps again and again would turn it on by as much as the machine is slow, and what was
    just written would be hours old.
    """

    def wall_s(self) -> float:
        return self._wall_offset_s


class HeldClock(SteppedClock):
    """Whoever sleeps on it sleeps until the end."""

    async def sleep(self, duration_s: float) -> None:
        await asyncio.Event().wait()


class HastyClock:
    """Real time, of which only a hundredth is slept."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s / 100)
