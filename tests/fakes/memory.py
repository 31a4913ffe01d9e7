"""Memories that need no file."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from agent.errors import MemoryUnavailable
from agent.memory.base import CORE, MemoryEntry, MemoryStats, Scope
from agent.messages import Provenance


def entry(
    content: str, *, provenance: Provenance = Provenance.OWNER, score: float = 1.0
) -> MemoryEntry:
    """A core memory of the owner's."""
    return MemoryEntry(1, "a-key", content, CORE, provenance, Scope("owner"), 0.0, 0.0, score)


class PreparedMemory:
    """Recalls what it was made with, whatever is asked."""

    name = "prepared"

    def __init__(self, entries: Sequence[MemoryEntry] = ()) -> None:
        self.prepared = list(entries)
        self.queries: list[tuple[str, Scope]] = []

    async def store(
        self,
        key: str,
        content: str,
        *,
        category: str = CORE,
        scope: Scope = Scope(),  # noqa: B008 - frozen
        provenance: Provenance = Provenance.OWNER,
        source: str = "",
    ) -> MemoryEntry:
        number = len(self.prepared) + 1
        made = MemoryEntry(
            number, key, content, category, provenance, scope, 0.0, 0.0, source=source
        )
        self.prepared.append(made)
        return made

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        self.queries.append((query, scope))
        return self.prepared[:limit]

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return next((made for made in self.prepared if made.key == key), None)

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> list[MemoryEntry]:
        return self.prepared[:limit]

    async def forget(self, key: str, scope: Scope) -> bool:
        kept = [made for made in self.prepared if made.key != key]
        gone = len(kept) < len(self.prepared)
        self.prepared = kept
        return gone

    async def count(self, scope: Scope | None = None) -> int:
        return len(self.prepared)

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        for made in self.prepared:
            yield made

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        self.prepared.append(entry)
        return entry

    async def stats(self) -> MemoryStats:
        return MemoryStats(self.name, len(self.prepared))

    async def health_check(self) -> bool:
        return True

    async def aclose(self) -> None:
        return


class SlowMemory(PreparedMemory):
    """Recalls nothing until it is let go."""

    def __init__(self, entries: Sequence[MemoryEntry] = ()) -> None:
        super().__init__(entries)
        self.may_answer = asyncio.Event()

    async def recall(self, query: str, limit: int, scope: Scope) -> "list[MemoryEntry]":
        found = await super().recall(query, limit, scope)
        await self.may_answer.wait()
        return found


class LostMemory(PreparedMemory):
    """Its disk is gone."""

    async def recall(self, query: str, limit: int, scope: Scope) -> "list[MemoryEntry]":
        raise MemoryUnavailable("the disk is gone")

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        raise MemoryUnavailable("the disk is gone")

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> "list[MemoryEntry]":
        raise MemoryUnavailable("the disk is gone")

    async def count(self, scope: Scope | None = None) -> int:
        raise MemoryUnavailable("the disk is gone")
