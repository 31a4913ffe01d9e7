"""Survey of `brain.db`: how many memories of which kind, how large, and what it says of itself."""

import sqlite3
from collections import Counter

from agent.memory import facts
from agent.memory.base import MemoryStats
from agent.memory.record import provenance_of


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
    named = {name: facts.get(db, name) for name in (facts.CAME_BACK, facts.UPKEEP)}
    return {name: said for name, said in named.items() if said}


def _size_bytes(db: sqlite3.Connection) -> int:
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)


def _vectors(db: sqlite3.Connection) -> str:
    rows = db.execute("SELECT model, count(*) FROM memory_vectors GROUP BY model ORDER BY 2 DESC")
    return ", ".join(f"{number} of {model}" for model, number in rows) or "none"
