"""Pool of connections: limits their number and cuts the slowest.

An honest caller is done within milliseconds. Whoever holds a place for longer without having asked
is cut, the longest first, of the caller who holds the most. Callers with a token come last.

Some places are kept for quick requests: nobody holds one of them for longer than a moment.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

# Of all callers. Each holds an open file of 512, and some kilobytes
MAX_PLACES = 240
# Of one caller, who may be a proxy that many use; the rest is for others
MAX_PLACES_OF_ONE = 208
# Above those: a request that comes whole needs one for milliseconds
QUICK_PLACES = 48
# Enough to say a request that is whole; a younger connection gives way to nobody
QUICK_S = 0.1
# How often the places are looked through while somebody is there
SWEEP_S = 0.05
# Cut in one look: all at once would come again all at once
MAX_CUTS = 24


class PooledConnection(Protocol):
    """Connection as the pool sees it."""

    begun_s: float

    @property
    def who(self) -> str:
        """Return the caller's name."""

    @property
    def is_known(self) -> bool:
        """Return true if the caller has shown a right token."""

    @property
    def due_s(self) -> float:
        """Return the time at which the connection must be gone."""

    @property
    def gives_way(self) -> bool:
        """Return true if the connection only waits for its caller."""

    def cut(self) -> None:
        """End the connection now."""


class GatewayConnectionPool:
    """Connections, the oldest first."""

    def __init__(self) -> None:
        self._holders: dict[PooledConnection, None] = {}
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._is_held = asyncio.Event()

    def __len__(self) -> int:
        return len(self._holders)

    def __iter__(self) -> Iterator[PooledConnection]:
        return iter(list(self._holders))

    def add(self, holder: PooledConnection) -> None:
        self._holders[holder] = None
        self._is_held.set()
        if len(self) >= MAX_PLACES + QUICK_PLACES:
            self._is_free.clear()

    def discard(self, holder: PooledConnection) -> None:
        self._holders.pop(holder, None)
        self._is_free.set()
        if not self._holders:
            self._is_held.clear()

    async def room(self) -> None:
        """Wait until one more may come."""
        await self._is_free.wait()

    async def keep_clear(self) -> None:
        """Sweep regularly while there are connections."""
        loop = asyncio.get_running_loop()
        while True:
            await self._is_held.wait()
            await asyncio.sleep(SWEEP_S)
            self.sweep(loop.time())

    def sweep(self, now_s: float) -> None:
        """Cut late connections, then those that hold a place that others need."""
        late = [one for one in self if one.due_s <= now_s][:MAX_CUTS]
        for one in late:
            one.cut()
        self._make_room(now_s, MAX_CUTS - len(late), frozenset(map(id, late)))

    def _make_room(self, now_s: float, most: int, gone: frozenset[int]) -> None:
        slow = [
            one
            for one in self
            if one.gives_way and now_s - one.begun_s >= QUICK_S and id(one) not in gone
        ]
        # Of each caller the oldest first, those with a token at the end
        slow.sort(key=lambda one: (one.is_known, one.begun_s))
        held = Counter(one.who for one in slow)
        total = len(self) - len(gone)
        for _ in range(min(most, len(slow))):
            who, count = held.most_common(1)[0]
            if total <= MAX_PLACES and count <= MAX_PLACES_OF_ONE:
                return
            oldest = next(one for one in slow if one.who == who)
            slow.remove(oldest)
            held[who] -= 1
            total -= 1
            oldest.cut()
