"""Urgent messages that overtake a message whose files are still being fetched.

While files are fetched the connection is read on: what stops the agent, or answers a question, is
handed over at once. Everything else keeps its place.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver
from agent.channels.urgency import is_urgent
from agent.errors import BarnacleError
from agent.messages import Inbound

_log = logging.getLogger(__name__)

# More than people say while a file is fetched; what comes then waits at the platform
MAX_WAITING = 500

Frame = str | bytes
# The connection is read on in its block
Watched = Callable[[], contextlib.AbstractAsyncContextManager[None]]
_T = TypeVar("_T")
_Told_co = TypeVar("_Told_co", covariant=True)


async def went_ahead(
    inbound: Inbound, questions: OpenApprovals, deliver: Deliver, *, has_files: bool
) -> bool:
    """Handle an answer or a stop at once; return true if the message needs nothing more."""
    if questions.answer(inbound, has_files=has_files):
        return True
    if not is_urgent(inbound.text):
        return False
    await deliver(inbound)
    return True


class Connection(Protocol[_Told_co]):
    """Connection whose messages are read one after another."""

    def messages(self, beat: Callable[[], None]) -> AsyncGenerator[_Told_co, None]:
        """Yield the messages until the connection fails; none is lost where that is broken off.

        Raises:
            ChannelUnavailable: it has ended.
        """
        ...


class UrgentFirst(Generic[_T]):
    """Messages of one connection.

    Args:
        beat: called at every sign of life.
        hurry: takes what cannot wait, and leaves alone what can; it is seen again in its turn.
    """

    def __init__(
        self,
        connection: Connection[_T],
        beat: Callable[[], None],
        hurry: Callable[[_T], Awaitable[None]],
    ) -> None:
        self._connection = connection
        self._beat = beat
        self._hurry = hurry
        self._waiting: deque[_T] = deque()

    async def messages(self) -> AsyncGenerator[_T, None]:
        """Yield all messages in their turn.

        Raises:
            ChannelUnavailable: it has ended.
        """
        async with contextlib.aclosing(self._connection.messages(self._beat)) as coming:
            while True:
                while self._waiting:
                    yield self._waiting.popleft()
                yield await anext(coming)

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Deliver urgent messages while the block runs."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _watch(self) -> None:
        try:
            async with contextlib.aclosing(self._connection.messages(self._beat)) as coming:
                while len(self._waiting) < MAX_WAITING:
                    message = await anext(coming)
                    # First: where this is broken off it is taken in its turn
                    self._waiting.append(message)
                    await self._hurry(message)
        except BarnacleError as err:
            # Whoever reads on meets the same
            _log.info("channels: cannot listen while a file is fetched (reason=%s)", err)
