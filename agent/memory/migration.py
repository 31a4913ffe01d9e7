"""Migration between backends: resumable, verified; the source stays untouched.

A memory that the target has in a newer version stays as it is there. What hides a memory is put
before it, so that nothing is shown that was hidden.
"""

import hashlib
from collections.abc import Callable, Iterable

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from agent.memory.base import Memory, MemoryEntry

# How many were looked at, and of how many
Progress = Callable[[int, int], None]
# Whose, and its key: what names a memory in every backend
_Name = tuple[str, str]


class Migrated(Struct, frozen=True):
    """Result of a migration.

    Args:
        carried: put into the target now.
        already: were there as they are, as after an interrupted run.
        newer: were there in a newer version, which was left.
        wrong: keys of those that the target does not give back as they were put.
    """

    carried: int = 0
    already: int = 0
    newer: int = 0
    wrong: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.carried + self.already + self.newer


class _Held(Struct, frozen=True):
    """A memory in the target, small enough to hold a million."""

    memory_id: int
    digest: bytes
    updated_at_s: float
    superseded_by: int | None


class _Move(Struct):
    target: Memory
    held: dict[_Name, _Held]
    total: int
    progress: Progress
    # The numbers in the target by those in the source
    numbers: dict[int, int] = field(default_factory=dict)
    # Numbers in the target of what was written anew: what they hid may have come back
    touched: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    async def put(self, entry: MemoryEntry) -> None:
        """Copy one memory unless it is there."""
        by = entry.superseded_by
        new = replace(entry, superseded_by=None if by is None else self.numbers.get(by))
        there = self.held.get(_name(new))
        if there is not None and there.updated_at_s > new.updated_at_s:
            self._count("newer", entry, there.memory_id)
        elif there is not None and self._is_same(there, new):
            self._count("already", entry, there.memory_id)
        else:
            put = await self.target.restore(new)
            self.touched.add(put.memory_id)
            self._count("carried", entry, put.memory_id)

    def _is_same(self, there: _Held, new: MemoryEntry) -> bool:
        is_hidden_alike = there.superseded_by == new.superseded_by
        return (
            there.digest == _digest(new)
            and is_hidden_alike
            and new.superseded_by not in self.touched
        )

    def _count(self, what: str, entry: MemoryEntry, number: int) -> None:
        self.numbers[entry.memory_id] = number
        self.counts[what] = self.counts.get(what, 0) + 1
        self.progress(sum(self.counts.values()), self.total)


async def migrate(source: Memory, target: Memory, progress: Progress) -> Migrated:
    """Copy everything and verify it.

    Raises:
        MemoryUnavailable: one of them cannot be used; what was carried stays carried.
    """
    held = await _holdings(target)
    stats = await source.stats()
    move = _Move(target, held, stats.count + stats.superseded, progress)
    hidden: list[MemoryEntry] = []
    async for entry in source.entries():
        if entry.superseded_by is None:
            await move.put(entry)
        else:
            hidden.append(entry)
    for entry in superseders_first(hidden):
        await move.put(entry)
    return Migrated(**move.counts, wrong=await _wrong(source, target, move.numbers))


def superseders_first(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return an order in which a memory never comes before the one that hides it."""
    waiting = list(entries)
    ordered: list[MemoryEntry] = []
    while waiting:
        numbers = {entry.memory_id for entry in waiting}
        free = [one for one in waiting if one.superseded_by not in numbers]
        ordered += free or waiting[:1]
        waiting = [one for one in waiting if one.superseded_by in numbers] if free else waiting[1:]
    return ordered


async def _holdings(memory: Memory) -> dict[_Name, _Held]:
    return {
        _name(entry): _Held(
            entry.memory_id, _digest(entry), entry.updated_at_s, entry.superseded_by
        )
        async for entry in memory.entries()
    }


async def _wrong(source: Memory, target: Memory, numbers: dict[int, int]) -> tuple[str, ...]:
    """Return the memories that the target lacks or has otherwise, by its own answers."""
    held = await _holdings(target)
    wrong = []
    async for entry in source.entries():
        there = held.get(_name(entry))
        by = None if entry.superseded_by is None else numbers.get(entry.superseded_by)
        is_there = there is not None and (
            there.updated_at_s > entry.updated_at_s
            or (there.digest == _digest(entry) and there.superseded_by == by)
        )
        if not is_there:
            wrong.append(entry.key)
    return tuple(wrong)


def _name(entry: MemoryEntry) -> _Name:
    return entry.scope.owner, entry.key


def _digest(entry: MemoryEntry) -> bytes:
    """Return a hash that ignores the memories' numbers."""
    same = astuple(replace(entry, memory_id=0, superseded_by=None, score=None))
    return hashlib.sha256(repr(same).encode(errors="replace")).digest()
