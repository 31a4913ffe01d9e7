"""Looking after `brain.db`: old conversations go, duplicates are hidden, the size stays in bounds.

What goes first when there is too much: what is hidden, then what is trusted least (a page's notes
before a model's, those before a person's), conversations before days, the least important, the
oldest. Pinned memories and the lasting facts of people never go. Each runs in its caller's
transaction.
"""

import sqlite3
import time
from collections.abc import Sequence

from agent.memory import curation, facts, rows
from agent.memory.base import CONVERSATION, CORE, MemoryEntry, Tidied
from agent.memory.record import COLUMNS, entry_of
from agent.messages import Provenance

# Memories that are changed in one transaction: recall does not wait longer than for a store
BATCH = 500
_RANKS = " ".join(f"WHEN '{one.name.lower()}' THEN {one.value}" for one in Provenance)
_TRUST = f"CASE provenance {_RANKS} ELSE {Provenance.WEB.value} END"
# Contents that differ only in case or in the marks around them
_SAME = "owner, trim(lower(content), ' .,;:!?。，；：！？')"
_CHEAPEST_FIRST = (
    f"superseded_by IS NULL, {_TRUST}, category != '{CONVERSATION}', category = '{CORE}',"
    " importance, updated_at_s, id"
)


def prune(db: sqlite3.Connection, before_s: float) -> list[int]:
    """Delete conversations that were last touched before that; their ids."""
    found = db.execute(
        "SELECT id FROM memories WHERE category = ? AND updated_at_s < ? AND NOT pinned LIMIT ?",
        [CONVERSATION, before_s, BATCH],
    )
    return _deleted(db, [row[0] for row in found])


def merge(db: sqlite3.Connection, now_s: float) -> list[int]:
    """Hide the duplicates of the most trusted, oldest memory that says the same; their ids.

    The one that stays is as it was: nothing that a page said is ever lent a person's trust.
    """
    groups = db.execute(
        "SELECT json_group_array(id) FROM entries WHERE NOT pinned"  # noqa: S608 - constants
        f" GROUP BY {_SAME} HAVING count(*) > 1 LIMIT {BATCH}"
    ).fetchall()
    merged: list[int] = []
    for (group,) in groups:
        best, *others = _same(db, group)
        for other in others:
            rows.hide(db, other.memory_id, best.memory_id)
            curation.note(db, now_s, "merged", other, best.key)
            merged.append(other.memory_id)
    return merged


def evict(db: sqlite3.Connection, max_memories: int) -> list[int]:
    """Delete what is over the limit, as far as it may go; their ids."""
    (count,) = db.execute("SELECT count(*) FROM memories").fetchone()
    found = db.execute(
        "SELECT id FROM memories WHERE NOT pinned"  # noqa: S608 - our own constants
        f" AND NOT (category = '{CORE}' AND {_TRUST} >= {Provenance.USER.value})"
        f" ORDER BY {_CHEAPEST_FIRST} LIMIT ?",
        [min(BATCH, max(0, count - max_memories))],
    )
    return _deleted(db, [row[0] for row in found])


def is_sound(db: sqlite3.Connection) -> bool:
    return bool(db.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)])


def note(db: sqlite3.Connection, tidied: Tidied, now_s: float) -> None:
    """Keep for `stats` what was done, and let SQLite look at its own statistics."""
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(now_s))
    soundness = "the database is whole" if tidied.is_sound else "the database is DAMAGED"
    facts.put(
        db,
        facts.UPKEEP,
        f"{day}: {tidied.pruned} pruned, {tidied.merged} merged, {tidied.evicted} evicted;"
        f" {soundness}",
    )
    db.execute("PRAGMA optimize")


def _same(db: sqlite3.Connection, group: str) -> Sequence[MemoryEntry]:
    """Memories of these ids, the one to keep first."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
        f" ORDER BY {_TRUST} DESC, created_at_s, id",
        [group],
    )
    return [entry_of(row) for row in found]


def _deleted(db: sqlite3.Connection, memory_ids: list[int]) -> list[int]:
    for memory_id in memory_ids:
        rows.delete(db, memory_id)
    return memory_ids
