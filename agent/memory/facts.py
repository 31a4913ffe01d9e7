"""Facts of `brain.db` about itself, by name."""

import sqlite3
from collections import Counter

from agent.memory.base import MemoryStats
from agent.memory.record import provenance_of

# Digests of the snapshots it wrote, the newest first
SNAPSHOTS = "snapshots"
# What came back at a cold start, as a sentence
CAME_BACK = "came back"
# The damaged file whose memories were looked through
SALVAGED = "salvaged"
# What the last upkeep did, as a sentence
UPKEEP = "upkeep"
# Lines of the tombstones that were taken into account
BURIED = "buried"
# The number of the last message whose memories it has
KEPT = "kept"
# Set while words of forgotten memories may be left in the files
UNERASED = "unerased"
# The way in which texts are split into the words of the index
SPLIT = "split"
# More than generations are kept: a snapshot that is on the disk was written by this store
_REMEMBERED_SNAPSHOTS = 20


def get(db: sqlite3.Connection, name: str) -> str:
    row = db.execute("SELECT value FROM memory_facts WHERE name = ?", [name]).fetchone()
    return "" if row is None else str(row[0])


def put(db: sqlite3.Connection, name: str, value: str) -> None:
    # Replaced, it would be another row, and written in the index of the names too
    db.execute(
        "INSERT INTO memory_facts (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [name, value],
    )


def kept_until(db: sqlite3.Connection) -> int | None:
    """Return the number of the last message that was kept here; None if there was none."""
    number = get(db, KEPT)
    return int(number) if number.isdecimal() else None


def put_kept(db: sqlite3.Connection, heard_id: int) -> None:
    put(db, KEPT, str(heard_id))


def keep_again(db: sqlite3.Connection) -> None:
    """Write that number once more: its transaction flushes those that were not flushed.

    A message is never kept again after something that was drawn from it was noted as forgotten.
    """
    put(db, KEPT, get(db, KEPT))


def knows_snapshot(db: sqlite3.Connection, digest: str) -> bool:
    return digest in get(db, SNAPSHOTS).split()


def remember_snapshot(db: sqlite3.Connection, digest: str) -> None:
    known = get(db, SNAPSHOTS).split()
    if known[:1] == [digest]:
        return
    earlier = [one for one in known if one != digest]
    put(db, SNAPSHOTS, " ".join([digest, *earlier][:_REMEMBERED_SNAPSHOTS]))


def replace_snapshot(db: sqlite3.Connection, before: str, after: str) -> None:
    """Know a snapshot by another digest, in its place among the others."""
    known = [after if one == before else one for one in get(db, SNAPSHOTS).split()]
    put(db, SNAPSHOTS, " ".join(dict.fromkeys(known)))


def survey(db: sqlite3.Connection, backend: str) -> MemoryStats:
    """Count visible and hidden memories, and their bytes."""
    (superseded,) = db.execute(
        "SELECT count(*) FROM memories WHERE superseded_by IS NOT NULL"
    ).fetchone()
    (pinned,) = db.execute("SELECT count(*) FROM entries WHERE pinned").fetchone()
    categories = dict(db.execute("SELECT category, count(*) FROM entries GROUP BY category"))
    provenances = Counter(
        provenance_of(name) for (name,) in db.execute("SELECT provenance FROM entries")
    )
    return MemoryStats(
        backend,
        sum(categories.values()),
        superseded,
        pinned,
        _size_bytes(db),
        categories,
        provenances,
        {"vectors": _vectors(db), **_said(db)},
    )


def _said(db: sqlite3.Connection) -> dict[str, str]:
    named = {name: get(db, name) for name in (CAME_BACK, UPKEEP)}
    return {name: said for name, said in named.items() if said}


def _size_bytes(db: sqlite3.Connection) -> int:
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)


def _vectors(db: sqlite3.Connection) -> str:
    rows = db.execute("SELECT model, count(*) FROM memory_vectors GROUP BY model ORDER BY 2 DESC")
    return ", ".join(f"{number} of {model}" for model, number in rows) or "none"
