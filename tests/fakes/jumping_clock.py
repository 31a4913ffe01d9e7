"""A clock whose wall time can be set while its monotonic time goes on."""

import asyncio


class JumpingClock:
    """Sleeping advances both times; `jump` moves the wall alone."""

    def __init__(self, wall_s: float, up_s: float = 1000.0) -> None:
        self._now_s = up_s
        self._offset_s = wall_s - self._now_s

    def monotonic_s(self) -> float:
        return self._now_s

    def wall_s(self) -> float:
        return self._offset_s + self._now_s

    def jump(self, by_s: float) -> None:
        self._offset_s += by_s

    async def sleep(self, duration_s: float) -> None:
        self._now_s += duration_s
        await asyncio.sleep(0)
