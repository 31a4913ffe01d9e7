"""The seam of long-term memory: seven methods and two values, whatever keeps them.

A memory belongs to a person (None: everybody) and keeps the provenance of its source for ever.
"""

from dataclasses import dataclass
from typing import Protocol

from agent.messages import Provenance

# Long-term facts, preferences, decisions
CORE = "core"
# What happened on a day
DAILY = "daily"
# Turns of a conversation: pruned after their retention
CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories, and in which conversation they came up.

    `person` separates: nobody recalls another's. `session` is kept for reference and
    narrows only where it is asked for in `list`.
    """

    person: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One memory; `score` is 0..1 and only set by `recall`."""

    memory_id: int
    key: str
    content: str
    category: str
    provenance: Provenance
    scope: Scope
    created_at_s: float
    updated_at_s: float
    score: float | None = None


class Memory(Protocol):
    """Long-term memory. Every method raises `MemoryUnavailable` when the store fails."""

    @property
    def name(self) -> str: ...

    async def store(
        self,
        key: str,
        content: str,
        *,
        category: str = CORE,
        scope: Scope = ...,
        provenance: Provenance = ...,
    ) -> MemoryEntry:
        """Keep a memory durably; the same key of the same person is replaced, its id kept.

        An empty key is made from the content.
        """

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        """The most relevant first; an empty or ``*`` query lists the newest."""

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None: ...

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> list[MemoryEntry]:
        """Newest first."""

    async def forget(self, key: str, scope: Scope) -> bool:
        """Whether there was such a memory, and it is gone now."""

    async def count(self, scope: Scope | None = None) -> int: ...

    async def health_check(self) -> bool: ...

    async def aclose(self) -> None: ...
