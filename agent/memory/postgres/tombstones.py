"""Tombstones of one agent for a shared brain, in a file beside its snapshots.

A server that is restored from an old copy, or that is lost and filled from a snapshot, still has
what was forgotten since. The server notes how many lines of the file it has taken into account;
where that is another number, a forget was cut off or the server is not the one it was.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent.memory.base import MemoryEntry
from agent.memory.postgres import forgetting, locks
from agent.memory.tombstones import Tombstones
from agent.storage.postgres.pipeline import Connection

_PUT = """
INSERT INTO memory_facts (name, value) VALUES (%s, %s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


class PostgresTombstones:
    """Tombstones of a folder; without one, nothing is noted."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tombstones = None if folder is None else Tombstones(folder)

    async def add(
        self, connection: Connection, entries: Sequence[MemoryEntry], now_s: float
    ) -> None:
        """Note durably that these are deleted now; the first thing of their deletion."""
        if self._tombstones is None:
            return
        await asyncio.to_thread(self._written, self._tombstones, entries, now_s)
        await self._count(connection, self._tombstones)

    async def allow(self, entry: MemoryEntry) -> None:
        """Note that this memory lives, although it was forgotten once."""
        if self._tombstones is not None:
            await asyncio.to_thread(self._tombstones.allow, entry)

    async def finish(self, connection: Connection) -> int:
        """Delete what a cut off forget has left and an older copy has brought; return how many."""
        tombstones = self._tombstones
        if tombstones is None or not tombstones.count:
            return 0
        found = await connection.execute(
            "SELECT value FROM memory_facts WHERE name = %s", [_name(tombstones)]
        )
        if await found.fetchone() == (str(tombstones.count),):
            return 0
        await locks.everybodys(connection)
        dead = await forgetting.bury_dead(connection, tombstones)
        await self._count(connection, tombstones)
        return dead

    def _written(
        self, tombstones: Tombstones, entries: Sequence[MemoryEntry], now_s: float
    ) -> None:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        tombstones.add(entries, now_s)

    async def _count(self, connection: Connection, tombstones: Tombstones) -> None:
        await connection.execute(_PUT, [_name(tombstones), str(tombstones.count)])


def _name(tombstones: Tombstones) -> str:
    return f"buried {tombstones.name}"
