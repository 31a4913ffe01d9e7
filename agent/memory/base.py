"""Seam of long-term memory: its values and methods, for every backend.

A memory has one owner (a person, a group, a device or everybody) and keeps the provenance and
the source of what it says for ever. `Memory` is what every backend does, `Curated` what some can.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from agent.messages import Provenance

# Long-term facts, preferences, decisions
CORE = "core"
# What happened on a day
DAILY = "daily"
# Turns of a conversation: pruned after their retention
CONVERSATION = "conversation"

# A memory is a fact or a turn of a conversation, not a document
MAX_CONTENT_CHARS = 64 * 1024
MAX_KEY_CHARS = 200
# As long as an address of a page may be; a longer one is cut
MAX_SOURCE_CHARS = 500
# The source of what was said in a conversation
FROM_CHAT = "chat"
# Between the file and the page in the source of a document's piece
PAGE_MARK = "#page="

# What an export for reading begins with: whose each memory is, and who said it, is lost in it
EXPORT_TITLE = "# What Barnacle remembers of"
# Above the memories that a prompt shows
RECALLED_HEADING = "[Memory context]"
# The heading, and the items that follow it with what is indented under them
_RECALLED = re.compile(
    re.escape(RECALLED_HEADING) + r"[^\n]*(\n[ \t]*([-*][^\n]*|[ \t]+[^\n]*)?(?=\n|\Z))*",
    re.IGNORECASE,
)

EVERYBODYS = ""
DEFAULT_IMPORTANCE = 0.5


def without_recalled(text: str) -> str:
    """Return the text without a repeated memory context; "" if nothing else is left.

    What a model was shown is never stored back: it would come back as new.
    """
    if RECALLED_HEADING.casefold() not in text.casefold():
        return text
    return _RECALLED.sub("", text).strip()


class Scope(Struct, frozen=True):
    """Scope of a store or a recall: a recall sees the memories of `owners`, nothing else.

    A memory is kept for the first of `person`, `group` and `device` that is set; for everybody
    where none is. `session` is kept for reference and narrows only where `list` is asked for it.
    """

    person: str | None = None
    session: str | None = None
    group: str | None = None
    device: str | None = None

    @property
    def owner(self) -> str:
        """Owner of a memory with this scope."""
        return self.owners[0]

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners whose memories are seen from here, the closest first, everybody's last."""
        if self.person is not None and self.group is None and self.device is None:
            # Nearly all: a question looks at a hundred of them
            return (f"person:{self.person}", EVERYBODYS)
        kinds = (("person", self.person), ("group", self.group), ("device", self.device))
        named = (f"{kind}:{name}" for kind, name in kinds if name is not None)
        return (*named, EVERYBODYS)

    def sees(self, other: "Scope") -> bool:
        """Return true if a memory with that scope may be recalled here."""
        return other.owner in self.owners


class MemoryEntry(Struct, frozen=True):
    """One memory.

    Args:
        score: 0..1, only set by `recall`.
        importance: 0..1.
        pinned: never evicted, merged or pruned.
        superseded_by: the id of the memory that hides this one.
        source: where it came from: a URL, a file, `FROM_CHAT`; empty when nobody knows.
        until_s: when a newer one contradicted it; only set by `former`.
    """

    memory_id: int
    key: str
    content: str
    category: str
    provenance: Provenance
    scope: Scope
    created_at_s: float
    updated_at_s: float
    score: float | None = None
    importance: float = DEFAULT_IMPORTANCE
    pinned: bool = False
    superseded_by: int | None = None
    source: str = ""
    until_s: float | None = None

    @property
    def is_named(self) -> bool:
        """Return true if somebody chose its key; others repeat the content."""
        from agent.memory.keys import key_of  # noqa: PLC0415 - the seam loads nothing else

        return self.key != key_of(self.content)

    def trusted_at_most(self, provenance: Provenance) -> "MemoryEntry":
        """Return it unchanged if the owner vouches for it; else less trusted, and not pinned."""
        if provenance >= Provenance.OWNER:
            return self
        return replace(self, provenance=min(self.provenance, provenance), pinned=False)


class HeardMessage(Struct, frozen=True):
    """A message from a person that is not remembered yet; ids grow.

    Args:
        group: where others heard it too; None outside a group.
    """

    heard_id: int
    person: str
    conversation: str
    text: str
    provenance: Provenance
    # When it was said; None where nobody knows
    at_s: float | None = None
    group: str | None = None


class MemoryStats(Struct, frozen=True):
    """Numbers of a store; `details` are the backend's own."""

    backend: str
    count: int = 0
    superseded: int = 0
    pinned: int = 0
    size_bytes: int = 0
    categories: Mapping[str, int] = field(default_factory=dict)
    provenances: Mapping[Provenance, int] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)


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
        source: str = "",
    ) -> MemoryEntry:
        """Keep a memory durably; the same key of the same owner is replaced and keeps its id.

        An empty key is made from the content.
        """

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        """Return the most relevant first; an empty or ``*`` query lists the newest."""

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        """Return the closest owner's memory, in the order of `Scope.owners`."""

    async def list(
        self, scope: Scope, category: str | None = None, limit: int = 100
    ) -> list[MemoryEntry]:
        """Return memories, newest first."""

    async def forget(self, key: str, scope: Scope) -> bool:
        """Remove the memory; return true if the owner of the scope had it."""

    async def count(self, scope: Scope | None = None) -> int: ...

    def entries(self) -> AsyncIterator[MemoryEntry]:
        """Yield everything that is kept, superseded memories too, always in the same order."""

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        """Put a memory back with every field; the same key of the same owner is replaced.

        As it was put: its id is another one where the old one is taken.
        """

    async def stats(self) -> MemoryStats: ...

    async def health_check(self) -> bool: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Curated(Protocol):
    """Extra operations of a store that can change its memories; found by `isinstance`."""

    async def mark(
        self,
        key: str,
        scope: Scope,
        *,
        pinned: bool | None = None,
        importance: float | None = None,
        said_at_s: float | None = None,
    ) -> bool:
        """Set the given values; return true if the owner of the scope has the memory."""

    async def supersede(self, old_key: str, new_key: str, scope: Scope) -> bool:
        """Hide the old memory behind the owner's new one; return true if it is hidden now.

        Pinned memories, those that somebody more trusted said and those about something else
        are not hidden.
        """

    async def revive(self, key: str, scope: Scope) -> bool:
        """Undo a supersession; return true if that memory was hidden and is not now."""

    async def forget_source(self, source: str, scope: Scope) -> int:
        """Delete the scope owner's memories of that source; return how many."""

    async def rebuild(self) -> int:
        """Make word index and vectors again; return the number of memories."""


@runtime_checkable
class Chronicled(Protocol):
    """A store that tells what was so before; found by `isinstance`."""

    async def former(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """Return the memories that this one contradicted, the latest first, with their end."""

    async def settle(self, entry: MemoryEntry) -> list[str]:
        """Close what a new statement contradicts; return the keys of the closed ones."""

    async def with_former(self, found: list[MemoryEntry], question: str) -> list[MemoryEntry]:
        """Return these, each with what was so before it if the question asks for the past."""


class SaidMemory(Struct, frozen=True):
    """A memory in the words of a message."""

    content: str
    category: str
    scope: Scope
    provenance: Provenance
    said_at_s: float | None = None
    pinned: bool = False


@runtime_checkable
class KeepsMessages(Protocol):
    """A store that keeps what a message leaves in one step; found by `isinstance`."""

    async def kept_until(self) -> int | None:
        """Return the number of the last message that was kept; None if there was none."""

    async def held(
        self, key: str, scope: Scope, newest: int
    ) -> tuple[MemoryEntry | None, list[MemoryEntry]]:
        """Return the memory of that key, and so many of the newest in any conversation."""

    async def keep(self, heard_id: int, said: Sequence[SaidMemory]) -> None:
        """Keep what a message leaves, close what it contradicts, and note its number.

        After a power cut the last messages may be missing, and their numbers with them.
        """


@runtime_checkable
class Catalogued(Protocol):
    """A store that knows its memories by more than their time; found by `isinstance`."""

    async def pinned(self, scope: Scope) -> list[MemoryEntry]:
        """Return the pinned memories, newest first."""

    async def about(self, thing: str, scope: Scope) -> list[MemoryEntry]:
        """Return all that names the thing, oldest first, with the end of what is no longer so."""

    async def doomed(self, key: str, scope: Scope) -> list[MemoryEntry]:
        """Return what `forget` would delete: the owner's memory and all that says the same."""


class StoreLimits(Struct, frozen=True):
    """Limits of a store; older conversations and surplus memories are removed."""

    conversation_days: int = 30
    max_memories: int = 100_000


class Tidied(Struct, frozen=True):
    """Result of upkeep: conversations pruned, duplicates hidden, memories evicted."""

    pruned: int = 0
    merged: int = 0
    evicted: int = 0
    is_sound: bool = True


class Inspection(Struct, frozen=True):
    """Result of an inspection.

    Args:
        memories: looked at.
        texts: damaged memories that came back from the snapshot.
        words: memories that were indexed again.
        vectors: damaged ones, made again by the model.
        doubtful: keys whose text and index differ, and no snapshot tells which is right.
        last_id: of this part.
    """

    memories: int = 0
    texts: int = 0
    words: int = 0
    vectors: int = 0
    doubtful: tuple[str, ...] = ()
    last_id: int = 0

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        if not (self.texts or self.words or self.vectors or self.doubtful):
            return f"{self.memories} memories are whole"
        said = (
            f"{self.memories} memories: {self.texts} damaged texts came back from the snapshot,"
            f" {self.words} indexed again, {self.vectors} damaged vectors removed"
        )
        return f"{said}, {len(self.doubtful)} in doubt" if self.doubtful else said

    def joined(self, other: "Inspection") -> "Inspection":
        """Return the result of both parts."""
        return Inspection(
            self.memories + other.memories,
            self.texts + other.texts,
            self.words + other.words,
            self.vectors + other.vectors,
            self.doubtful + other.doubtful,
            other.last_id,
        )


@runtime_checkable
class Inspects(Protocol):
    """A store that keeps things twice and compares them; found by `isinstance`."""

    async def inspect(self) -> Inspection:
        """Compare text, index, vectors and snapshot, and mend what one of the others tells."""


@runtime_checkable
class Embeds(Protocol):
    """A store that makes vectors in the background; found by `isinstance`."""

    @property
    def lacking_vectors(self) -> int:
        """Return the number of memories without vectors."""


@runtime_checkable
class Upkept(Protocol):
    """A store that needs upkeep; found by `isinstance`."""

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        """Prune, merge, evict and look whether everything is whole. Pinned memories stay.

        Args:
            now_s: when upkeep began: a clock that is set meanwhile makes nothing older.
        """
