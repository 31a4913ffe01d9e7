"""What a person sees while they wait: that their message is here, that somebody types, what came.

An ornament: it waits for nothing, holds up nothing, and its failures are nobody's business.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass

from agent.channels.base import Channel, Mark
from agent.clock import Clock
from agent.messages import Inbound

_log = logging.getLogger(__name__)

# A platform that is slower than this about an ornament does not get it
SHOW_TIMEOUT_S = 10.0
# Who has an answer sooner has not begun to wait
SHOW_AFTER_S = 0.2


@dataclass(slots=True, eq=False)
class Showing:
    """Shows how it stands with one message, where its channel can.

    What nobody has written gets no marks, and nobody sees it being worked on.
    """

    channel: Channel
    inbound: Inbound
    clock: Clock
    _at_work: asyncio.Task[None] | None = None
    _is_over: bool = False
    _pauses: bool = False
    _is_marked: bool = False

    @property
    def has_marks(self) -> bool:
        return self.channel.abilities.shows_marks and not self.inbound.strand

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Who waits sees their message marked, and somebody type, until the answer comes."""
        if not self.has_marks and self._typing_every_s is None:
            yield
            return
        self._at_work = asyncio.ensure_future(self._work())
        try:
            yield
        finally:
            self._is_over = True
            # What a platform is being told is told to its end
            if self._pauses:
                self._at_work.cancel()

    async def end(self, mark: Mark) -> None:
        """Whether it came to an answer; an answer that came at once says so itself."""
        if self._at_work is not None:
            await asyncio.wait([self._at_work], timeout=SHOW_TIMEOUT_S)
        if self.has_marks and (self._is_marked or mark is not Mark.DONE):
            await _try(self.channel.mark(self.inbound, mark))

    @property
    def _typing_every_s(self) -> float | None:
        return None if self.inbound.strand else self.channel.abilities.typing_every_s

    async def _work(self) -> None:
        await self._pause(SHOW_AFTER_S)
        if self.has_marks and not self._is_over:
            self._is_marked = True
            await _try(self.channel.mark(self.inbound, Mark.SEEN))
        every_s = self._typing_every_s
        while every_s is not None and not self._is_over:
            await _try(self.channel.typing(self.inbound))
            await self._pause(every_s)

    async def _pause(self, duration_s: float) -> None:
        if not self._is_over:
            self._pauses = True
            await self.clock.sleep(duration_s)
            self._pauses = False


async def _try(shown: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(SHOW_TIMEOUT_S):
            await shown
    except Exception as err:  # noqa: BLE001 - an ornament of a channel ends nothing
        _log.debug("not shown: %r", err)
