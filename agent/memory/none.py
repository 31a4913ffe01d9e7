"""A memory that keeps nothing."""

from collections.abc import AsyncIterator

from agent.memory.base import CORE, MemoryEntry, MemoryStats, Scope
from agent.messages import Provenance

_EVERYBODY = Scope()


class NoMemory:
    """Accepts every memory and has none."""

    name = "none"

    async def store(
        self,
        key: str,
        content: str,
        *,
        category: str = CORE,
        scope: Scope = _EVERYBODY,
        provenance: Provenance = Provenance.WEB,
        source: str = "",
    ) -> MemoryEntry:
        return MemoryEntry(0, key, content, category, provenance, scope, 0.0, 0.0, source=source)

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        return []

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return None

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> list[MemoryEntry]:
        return []

    async def forget(self, key: str, scope: Scope) -> bool:
        return False

    async def count(self, scope: Scope | None = None) -> int:
        return 0

    async def entries(self) -> AsyncIterator[MemoryEntry]:
        for nothing in await self.list(_EVERYBODY):
            yield nothing

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        return entry

    async def stats(self) -> MemoryStats:
        return MemoryStats(self.name)

    async def health_check(self) -> bool:
        return True

    async def aclose(self) -> None:
        return
