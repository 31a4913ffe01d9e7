"""Restoration of a `brain.db` that lacks something: from its snapshot, and from a damaged one."""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from agent.memory import facts, forgetting, rows, salvage
from agent.memory.base import MemoryEntry
from agent.memory.generations import Generations
from agent.memory.tombstones import Tombstones
from agent.messages import Provenance
from agent.storage.database import was_set_aside

# Of `text.tokens`; another one splits the index of every database once
_SPLIT = "Thai and its neighbours in pairs"
# What is said of a file that this device did not write
_NOT_OURS = (
    "; this device did not write that file, so they are trusted like a web page: `barnacle "
    "memory import FILE --provenance owner` trusts them as yours"
)


class _Readable:
    """Passes on readable entries and counts the others, without loading a whole snapshot."""

    def __init__(self, found: Iterable[MemoryEntry | None]) -> None:
        self._found = found
        self.unreadable = 0

    def __iter__(self) -> Iterator[MemoryEntry]:
        for entry in self._found:
            if entry is None:
                self.unreadable += 1
            else:
                yield entry


def bring_back(
    db: sqlite3.Connection, snapshots: Generations, path: Path, tombstones: Tombstones
) -> str:
    """Restore what the database lacks and nobody forgot; return a sentence about it, or ""."""
    if not _is_split(db):
        rows.split_again(db)
        facts.put(db, facts.SPLIT, _SPLIT)
    if not _is_buried(db, tombstones):
        # A forget was cut off between its note and its deletion, or this database is a new one
        forgetting.bury_dead(db, tombstones)
        facts.put(db, facts.BURIED, str(tombstones.count))
    came = (_from_snapshot(db, snapshots, tombstones), _salvaged(db, path, tombstones))
    said = [sentence for sentence in came if sentence]
    if not said:
        return ""
    sentence = "; ".join(said)
    facts.put(db, facts.CAME_BACK, f"{time.strftime('%Y-%m-%d %H:%M')}: {sentence}")
    return sentence


def lacks_nothing(
    db: sqlite3.Connection, snapshots: Generations, path: Path, tombstones: Tombstones
) -> bool:
    """Return true if `bring_back` would change nothing."""
    every = snapshots.every()
    return (
        _is_split(db)
        and _is_buried(db, tombstones)
        and (not every or facts.knows_snapshot(db, every[0].digest))
        and _unread(db, path) is None
    )


def _is_split(db: sqlite3.Connection) -> bool:
    return facts.get(db, facts.SPLIT) == _SPLIT


def _is_buried(db: sqlite3.Connection, tombstones: Tombstones) -> bool:
    return not tombstones.count or facts.get(db, facts.BURIED) == str(tombstones.count)


def _unread(db: sqlite3.Connection, path: Path) -> Path | None:
    """Return the newest damaged database, unless it was read already."""
    damaged = next(iter(was_set_aside(path)), None)
    is_read = damaged is not None and facts.get(db, facts.SALVAGED) == damaged.name
    return None if is_read else damaged


def _from_snapshot(db: sqlite3.Connection, snapshots: Generations, tombstones: Tombstones) -> str:
    every = snapshots.every()
    if not every or facts.knows_snapshot(db, every[0].digest):
        return ""
    chosen = next((one for one in every if one.is_whole()), every[0])
    if facts.knows_snapshot(db, chosen.digest):
        return ""
    # A file that somebody else put there is no word of the owner's, whatever it says
    trust = Provenance.OWNER if snapshots.is_ours(chosen) else Provenance.WEB
    found = _Readable(entry and entry.trusted_at_most(trust) for entry in chosen.entries())
    restored = merge_entries(db, living(found, tombstones))
    facts.remember_snapshot(db, chosen.digest)
    lost = found.unreadable
    if not restored and not lost:
        # It was written, and the agent killed before it could be noted
        return ""
    doubt = f"; {lost} in it could not be read" if lost else ""
    if trust < Provenance.OWNER:
        doubt += _NOT_OURS
    return f"{restored} memories came back from {chosen.path.name}{doubt}"


def _salvaged(db: sqlite3.Connection, path: Path, tombstones: Tombstones) -> str:
    """Copy missing memories from the newest damaged database, once."""
    damaged = _unread(db, path)
    if damaged is None:
        return ""
    facts.put(db, facts.SALVAGED, damaged.name)
    try:
        uri = f"{damaged.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as old:
            old.text_factory = decoded
            found = salvage.readable(old)
    except (sqlite3.Error, UnicodeError):
        found = []
    merged = merge_entries(db, living(found, tombstones))
    return f"{merged or 'nothing'} more could be read from {damaged.name}"


def living(entries: Iterable[MemoryEntry], tombstones: Tombstones) -> Iterator[MemoryEntry]:
    """Yield what was not forgotten."""
    return (entry for entry in entries if not tombstones.is_dead(entry))


def merge_entries(db: sqlite3.Connection, entries: Iterable[MemoryEntry]) -> int:
    """Restore missing or newer memories; return how many.

    What is here and trusted more stays: whoever lays a file here replaces nobody's own words.
    """
    # By the numbers of where they come from, those that are there already too
    ids: dict[int, int] = {}
    hidden: list[tuple[int, int]] = []
    restored = 0
    for entry in entries:
        held = rows.held(db, entry.scope.owner, entry.key)
        if held is not None and not _replaces(entry, held):
            ids[entry.memory_id] = held.memory_id
            continue
        put = rows.restore(db, replace(entry, superseded_by=None))
        ids[entry.memory_id] = put.memory_id
        restored += 1
        if entry.superseded_by is not None:
            hidden.append((put.memory_id, entry.superseded_by))
    for memory_id, by in hidden:
        # What hid it may be lost or forgotten: another memory of that number has not
        if by in ids:
            rows.hide(db, memory_id, ids[by])
    return restored


def _replaces(entry: MemoryEntry, held: MemoryEntry) -> bool:
    return held.updated_at_s < entry.updated_at_s and held.provenance <= entry.provenance


def decoded(raw: bytes) -> str:
    """Return a text, with a sign for each damaged letter."""
    return raw.decode(errors="replace")
