"""Pace of lines: a few at once, then one after the other."""

import asyncio

from agent.clock import Clock

# Servers count some five lines as a person's haste
BURST_LINES = 5
# And then one in a second or two; more is a flood, for which they close the connection
EVERY_S = 1.2


class Pace:
    """Lets lines through."""

    def __init__(self, clock: Clock, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._clock = clock
        # When all that was said would have been said at an even pace
        self._even_s = 0.0
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Until one more line may go."""
        async with self._turn:
            now_s = self._clock.monotonic_s()
            self._even_s = max(self._even_s, now_s)
            early_s = self._even_s - now_s - (BURST_LINES - 1) * self._every_s
            if early_s > 0:
                await self._clock.sleep(early_s)
            self._even_s += self._every_s
