"""Recall for messages: memories for a turn, looked for as soon as its message comes."""

import asyncio
import logging

from msgspec import Struct

from agent.errors import MemoryUnavailable
from agent.memory.base import Catalogued, Chronicled, Memory, MemoryEntry, Scope
from agent.memory.settings import MemorySettings
from agent.messages import Inbound
from agent.system.clock import Clock
from agent.turn.prompt import recalled

_log = logging.getLogger(__name__)

# A card that is slow to commit a message takes some seconds; what was found longer ago is looked
# for again, because something may have been forgotten meanwhile
FRESH_S = 5.0
# Messages that are expected at a time: one that is never asked for takes no room for ever
MOST_EXPECTED = 4


class MemoryRequest(Struct, frozen=True):
    """A message's question to the memory."""

    text: str
    limit: int
    scope: Scope

    @classmethod
    def of(cls, message: Inbound, settings: MemorySettings) -> "MemoryRequest":
        # What everybody in a group may know is recalled there besides what is the person's own
        group = message.address.chat if message.is_group else None
        scope = Scope(message.who, message.conversation, group)
        return cls(message.text, settings.recall_limit, scope)


# What is pinned, and what was found
_Found = tuple[list[MemoryEntry], list[MemoryEntry]]


class MessageRecall:
    """Looks in the memory for messages, one look for each.

    Args:
        memory: may fail; a turn goes on without it.
    """

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock
        self._begun: dict[MemoryRequest, tuple[asyncio.Task[_Found], float]] = {}

    def expect(self, message: Inbound, settings: MemorySettings) -> None:
        """Begin to look for a message whose turn is about to begin."""
        request = MemoryRequest.of(message, settings)
        if request in self._begun:
            return
        while len(self._begun) >= MOST_EXPECTED:
            self._drop(next(iter(self._begun)))
        task = asyncio.create_task(self._look(request))
        self._begun[request] = task, self._clock.monotonic_s()

    async def of(self, message: Inbound, settings: MemorySettings) -> list[MemoryEntry]:
        """Return the pinned memories and those worth showing; none if the memory cannot be had."""
        request = MemoryRequest.of(message, settings)
        begun, at_s = self._begun.get(request, (None, 0.0))
        if begun is not None and self._clock.monotonic_s() - at_s <= FRESH_S:
            del self._begun[request]
            pinned, found = await begun
        else:
            self._drop(request)
            pinned, found = await self._look(request)
        return recalled(found, settings.min_score, pinned)

    async def aclose(self) -> None:
        """End what nobody has asked for."""
        begun = [task for task, _ in self._begun.values()]
        for request in list(self._begun):
            self._drop(request)
        await asyncio.gather(*begun, return_exceptions=True)

    def _drop(self, request: MemoryRequest) -> None:
        task, _ = self._begun.pop(request, (None, 0.0))
        if task is not None:
            task.cancel()

    async def _look(self, request: MemoryRequest) -> _Found:
        try:
            # The model reads the question while the pinned ones are looked up
            found, pinned = await asyncio.gather(self._found(request), self._pinned(request.scope))
        except MemoryUnavailable as err:
            _log.warning("memory: not available for this turn (error=%s)", err)
            return [], []
        if request.scope.group is None:
            return pinned, found
        from agent.tools import memory_group  # noqa: PLC0415 - groups alone need it

        return memory_group.told_there(pinned, request.scope.session or ""), found

    async def _found(self, request: MemoryRequest) -> list[MemoryEntry]:
        asked = request.text, request.limit, request.scope
        if request.scope.group is not None:
            from agent.tools import memory_group  # noqa: PLC0415 - as below

            return await memory_group.recall(self._memory, *asked)
        found = await self._memory.recall(*asked)
        if isinstance(self._memory, Chronicled):
            found = await self._memory.with_former(found, request.text)
        return found

    async def _pinned(self, scope: Scope) -> list[MemoryEntry]:
        return await self._memory.pinned(scope) if isinstance(self._memory, Catalogued) else []
