"""Memories that need no file."""

from collections.abc import Sequence

from agent.errors import MemoryUnavailable
from agent.memory.base import CORE, MemoryEntry, Scope
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
        self.entries = list(entries)
        self.queries: list[tuple[str, Scope]] = []

    async def store(
        self,
        key: str,
        content: str,
        *,
        category: str = CORE,
        scope: Scope = Scope(),  # noqa: B008 - frozen
        provenance: Provenance = Provenance.OWNER,
    ) -> MemoryEntry:
        made = MemoryEntry(
            len(self.entries) + 1, key, content, category, provenance, scope, 0.0, 0.0
        )
        self.entries.append(made)
        return made

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        self.queries.append((query, scope))
        return self.entries[:limit]

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        return next((made for made in self.entries if made.key == key), None)

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> list[MemoryEntry]:
        return self.entries[:limit]

    async def forget(self, key: str, scope: Scope) -> bool:
        kept = [made for made in self.entries if made.key != key]
        gone = len(kept) < len(self.entries)
        self.entries = kept
        return gone

    async def count(self, scope: Scope | None = None) -> int:
        return len(self.entries)

    async def health_check(self) -> bool:
        return True

    async def aclose(self) -> None:
        return


class LostMemory(PreparedMemory):
    """Its disk is gone."""

    async def recall(self, query: str, limit: int, scope: Scope) -> "list[MemoryEntry]":
        raise MemoryUnavailable("the disk is gone")
