"""Bringing memories back: from the newest good snapshot, and from what is left of a damaged file.

A database that did not write the snapshot beside it is new, was damaged or has gone back in time.
It gets what it lacks; what it has that is as new stays. All in the caller's transaction.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from agent.memory import facts, rows
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations
from agent.messages import Provenance
from agent.storage.db import was_set_aside

# What is said of a file that this device did not write
_NOT_OURS = (
    "; this device did not write that file as it is, so they are trusted like a page: `barnacle "
    "memory import FILE --provenance owner` takes them as yours"
)


class _Readable:
    """Passes on what could be read and counts the rest: a snapshot may not fit into RAM."""

    def __init__(self, found: Iterable[MemoryEntry | None]) -> None:
        self._found = found
        self.unreadable = 0

    def __iter__(self) -> Iterator[MemoryEntry]:
        for entry in self._found:
            if entry is None:
                self.unreadable += 1
            else:
                yield entry


def bring_back(db: sqlite3.Connection, snapshots: Generations, path: Path) -> str:
    """Restore what the database at that path lacks; what came back, or nothing, as a sentence."""
    said = [
        sentence for sentence in (_from_snapshot(db, snapshots), _salvaged(db, path)) if sentence
    ]
    if not said:
        return ""
    sentence = "; ".join(said)
    facts.put(db, facts.CAME_BACK, f"{time.strftime('%Y-%m-%d %H:%M')}: {sentence}")
    return sentence


def _from_snapshot(db: sqlite3.Connection, snapshots: Generations) -> str:
    every = snapshots.every()
    if not every or facts.knows_snapshot(db, every[0].digest):
        return ""
    chosen = next((one for one in every if one.is_whole()), every[0])
    if facts.knows_snapshot(db, chosen.digest):
        return ""
    # A file that somebody else put there is no word of the owner's, whatever it says
    trust = Provenance.OWNER if snapshots.is_ours(chosen) else Provenance.WEB
    found = _Readable(entry and entry.trusted_at_most(trust) for entry in chosen.entries())
    restored = merge(db, found)
    facts.remember_snapshot(db, chosen.digest)
    lost = found.unreadable
    if not restored and not lost:
        # It was written, and the agent killed before it could be noted
        return ""
    doubt = f"; {lost} in it could not be read" if lost else ""
    if trust < Provenance.OWNER:
        doubt += _NOT_OURS
    return f"{restored} memories came back from {chosen.path.name}{doubt}"


def _salvaged(db: sqlite3.Connection, path: Path) -> str:
    """Take what is missing here from the newest database that was set aside, once."""
    damaged = next(iter(was_set_aside(path)), None)
    if damaged is None or facts.get(db, facts.SALVAGED) == damaged.name:
        return ""
    facts.put(db, facts.SALVAGED, damaged.name)
    try:
        uri = f"{damaged.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as old:
            old.text_factory = _decoded
            found = rows.readable(old)
    except (sqlite3.Error, UnicodeError):
        found = []
    return f"{merge(db, found) or 'nothing'} more could be read from {damaged.name}"


def merge(db: sqlite3.Connection, entries: Iterable[MemoryEntry]) -> int:
    """Restore those that are missing here or newer than what is here; how many they were."""
    new_ids: dict[int, int] = {}
    hidden: list[tuple[int, int]] = []
    for entry in entries:
        held = rows.held(db, entry.scope.owner, entry.key)
        if held is not None and held.updated_at_s >= entry.updated_at_s:
            continue
        put = rows.restore(db, replace(entry, superseded_by=None))
        new_ids[entry.memory_id] = put.memory_id
        if entry.superseded_by is not None:
            hidden.append((put.memory_id, entry.superseded_by))
    for memory_id, by in hidden:
        rows.hide(db, memory_id, new_ids.get(by, by))
    return len(new_ids)


def _decoded(raw: bytes) -> str:
    return raw.decode(errors="replace")
