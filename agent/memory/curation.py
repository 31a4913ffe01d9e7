"""Curation of `brain.db`: marks, supersession, upkeep.

Nothing here raises trust: a memory is only hidden by one that is trusted as much, and what hides
it is written down. Every function runs inside a transaction of its caller.
"""

import sqlite3
import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.memory import facts, rows
from agent.memory.base import CONVERSATION, CORE, MemoryEntry, Scope, Tidied
from agent.memory.record import COLUMNS, entry_of
from agent.memory.text import asked_tokens
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
    """Delete conversations that are older than that; return their ids."""
    found = db.execute(
        "SELECT id FROM memories WHERE category = ? AND updated_at_s < ? AND NOT pinned LIMIT ?",
        [CONVERSATION, before_s, BATCH],
    )
    return _deleted(db, [row[0] for row in found])


def hide_duplicates(db: sqlite3.Connection, now_s: float) -> list[int]:
    """Hide duplicates of the most trusted, oldest memory; return their ids.

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
            note(db, now_s, "merged", other, best.key)
            merged.append(other.memory_id)
    return merged


def evict(db: sqlite3.Connection, max_memories: int) -> list[int]:
    """Delete memories over the limit, if they may go; return their ids."""
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


def note_tidied(db: sqlite3.Connection, tidied: Tidied, now_s: float) -> None:
    """Keep the report for `stats`, and let SQLite update its statistics."""
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
    """Return the memories of these ids, the one to keep first."""
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


# Entries of the log that are kept: years of contradictions in a household
LOG_ROWS = 10_000
# Two memories are about the same when they share this part of the shorter one's telling words.
# "Allergic to penicillin" and "likes green tea" share one of three
SAME_SUBJECT = 0.5
_COMPARED_TOKENS = 64
# Memories of one owner that are compared with a new statement, the newest first
MAX_COMPARED = 2000
# Earlier truths that are told of one thing
MOST_FORMER = 5


class Marks(Struct, frozen=True):
    """Values to set on a memory; None leaves one as it is."""

    pinned: bool | None = None
    importance: float | None = None
    said_at_s: float | None = None


def mark(db: sqlite3.Connection, key: str, scope: Scope, marks: Marks) -> bool:
    done = db.execute(
        "UPDATE memories SET pinned = ifnull(:pinned, pinned),"
        # Nobody has said anything later than it was stored, whatever a platform's clock says
        " created_at_s = min(created_at_s, ifnull(:said_at_s, created_at_s)),"
        " updated_at_s = min(updated_at_s, ifnull(:said_at_s, updated_at_s)),"
        " importance = max(0.0, min(1.0, ifnull(:importance, importance)))"
        " WHERE owner = :owner AND key = :key",
        {
            "pinned": marks.pinned,
            "importance": marks.importance,
            "said_at_s": marks.said_at_s,
            "owner": scope.owner,
            "key": key,
        },
    )
    return done.rowcount > 0


def supersede(
    db: sqlite3.Connection, old_key: str, new_key: str, scope: Scope, now_s: float
) -> int | None:
    """Return the id of the memory that is hidden now; None if it may not be hidden."""
    old = rows.held(db, scope.owner, old_key)
    new = rows.held(db, scope.owner, new_key)
    if old is None or new is None or not may_hide(new, old):
        return None
    rows.hide(db, old.memory_id, new.memory_id)
    note(db, now_s, "superseded", old, new.key)
    return old.memory_id


def may_hide(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Return true if the new memory may replace the old one."""
    are_apart = old.memory_id != new.memory_id and old.scope.owner == new.scope.owner
    are_shown = old.superseded_by is None and new.superseded_by is None
    is_allowed = not old.pinned and new.provenance >= old.provenance
    is_about_it = share_a_subject(new.content, old.content) or _contradict(new, old)
    return are_apart and are_shown and is_allowed and is_about_it


def _contradict(new: MemoryEntry, old: MemoryEntry) -> bool:
    from agent.memory.statement import contradicts  # noqa: PLC0415 - many patterns, for few calls

    return contradicts(new.content, old.content)


def share_a_subject(one: str, other: str) -> bool:
    mine, theirs = (set(asked_tokens(text, _COMPARED_TOKENS)) for text in (one, other))
    shorter = min(len(mine), len(theirs))
    return bool(shorter) and len(mine & theirs) / shorter >= SAME_SUBJECT


def former(db: sqlite3.Connection, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return what this memory contradicted and what that had contradicted, the latest first."""
    found: list[MemoryEntry] = []
    by = entry
    while len(found) < MOST_FORMER:
        row = db.execute(
            f"SELECT {COLUMNS} FROM memories WHERE superseded_by = ?"  # noqa: S608 - constants
            " AND owner = ? ORDER BY created_at_s DESC, id DESC LIMIT ?",
            [by.memory_id, by.scope.owner, MOST_FORMER],
        ).fetchall()
        closed = [one for one in map(entry_of, row) if _contradict(by, one)]
        if not closed:
            return found
        found += [replace(one, until_s=by.created_at_s) for one in closed]
        by = closed[-1]
    return found[:MOST_FORMER]


def revive(db: sqlite3.Connection, key: str, scope: Scope, now_s: float) -> bool:
    hidden = rows.held(db, scope.owner, key)
    if hidden is None or hidden.superseded_by is None:
        return False
    rows.reveal(db, hidden.memory_id, hidden.superseded_by)
    note(db, now_s, "revived", hidden)
    return True


def note(
    db: sqlite3.Connection, now_s: float, action: str, entry: MemoryEntry, other_key: str = ""
) -> None:
    """Log an action on a memory; remove the oldest notes."""
    (number,) = db.execute(
        "INSERT INTO memory_log (at_s, action, owner, key, other_key) VALUES (?, ?, ?, ?, ?)"
        " RETURNING id",
        [now_s, action, entry.scope.owner, entry.key, other_key],
    ).fetchone()
    db.execute("DELETE FROM memory_log WHERE id <= ?", [number - LOG_ROWS])
