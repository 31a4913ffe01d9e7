"""Erasure of forgotten words from `brain.db`, its log and its snapshots.

A deleted row is overwritten by SQLite itself. Its words stay in the word index until the index is
merged, in the log until that is cut off, and in the snapshots until those are written again.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from agent.memory import facts
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations, Rewritten
from agent.memory.tombstones import Tombstones

R = TypeVar("R")

# Pages of the index that are merged in one transaction: a question waits for no more
_MERGED_PAGES = 500
# A merge that changes fewer rows than this has had nothing to do
_LEAST_CHANGES = 2


class ErasableStore(Protocol):
    """The database of the memories."""

    async def run(self, job: Callable[[sqlite3.Connection], R]) -> R: ...

    async def fold(self) -> bool:
        """Move the log into the database and cut it off; false if somebody still reads it."""


def note(db: sqlite3.Connection, entries: Sequence[MemoryEntry]) -> None:
    """Note that these leave something to erase, and take them out of the log of what was hidden."""
    # Another mark each time: an erasure that is under way finds that there is more to do
    facts.put(db, facts.UNERASED, secrets.token_hex(8))
    db.executemany(
        "DELETE FROM memory_log WHERE owner = ?1 AND (key = ?2 OR other_key = ?2)",
        [(entry.scope.owner, entry.key) for entry in entries],
    )


async def erase(store: ErasableStore, folder: Path, noted: str) -> bool:
    """Erase what forgotten memories have left; return false if the log is still in use.

    Args:
        noted: the mark that `note` left and this takes away.

    Raises:
        MemoryUnavailable: it is not done, and is noted as before.
        OSError: likewise.
        StorageFull: likewise.
    """
    while await store.run(_merge):
        pass
    for one in await asyncio.to_thread(_without_the_dead, folder):
        await store.run(partial(_know, one=one))
    if is_done := await store.fold():
        await store.run(partial(_settle, noted=noted))
    return is_done


def _settle(db: sqlite3.Connection, noted: str) -> None:
    """Take the note away, unless something was forgotten since it was read."""
    if facts.get(db, facts.UNERASED) == noted:
        facts.put(db, facts.UNERASED, "")


def _merge(db: sqlite3.Connection) -> bool:
    """Merge a part of the word index into one, which has no deleted words; false at the end."""
    before = db.total_changes
    # Negative: down to one part, however few there are
    db.execute(
        "INSERT INTO memory_words (memory_words, rank) VALUES ('merge', ?)", [-_MERGED_PAGES]
    )
    return db.total_changes - before >= _LEAST_CHANGES


def _without_the_dead(folder: Path) -> list[Rewritten]:
    # Read anew: those of the store belong to its thread
    return Generations(folder).rewrite_without(Tombstones(folder).is_dead)


def _know(db: sqlite3.Connection, one: Rewritten) -> None:
    """Know a rewritten snapshot as its former self was known; else the next start reads it."""
    if facts.knows_snapshot(db, one.before):
        facts.replace_snapshot(db, one.before, one.after)
