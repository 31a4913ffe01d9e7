"""Changing what is remembered in `brain.db`: marks, supersession, deletion by source.

Nothing here raises trust: a memory is only hidden by one that is trusted as much, and what hides
it is written down. Every function runs inside a transaction of its caller.
"""

import sqlite3

from agent.memory import rows
from agent.memory.base import MemoryEntry, Scope
from agent.memory.text import asked_tokens

# Entries of the log that are kept: years of contradictions in a household
LOG_ROWS = 10_000
# Two memories are about the same when they share this part of the shorter one's telling words.
# "Allergic to penicillin" and "likes green tea" share one of three
SAME_SUBJECT = 0.5
_COMPARED_TOKENS = 64


def mark(
    db: sqlite3.Connection,
    key: str,
    scope: Scope,
    *,
    pinned: bool | None,
    importance: float | None,
) -> bool:
    done = db.execute(
        "UPDATE memories SET pinned = ifnull(:pinned, pinned),"
        " importance = max(0.0, min(1.0, ifnull(:importance, importance)))"
        " WHERE owner = :owner AND key = :key",
        {"pinned": pinned, "importance": importance, "owner": scope.owner, "key": key},
    )
    return done.rowcount > 0


def supersede(
    db: sqlite3.Connection, old_key: str, new_key: str, scope: Scope, now_s: float
) -> int | None:
    """The id of the memory that is hidden now; None where it may not be."""
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
    return are_apart and are_shown and is_allowed and share_a_subject(new.content, old.content)


def share_a_subject(one: str, other: str) -> bool:
    mine, theirs = (set(asked_tokens(text, _COMPARED_TOKENS)) for text in (one, other))
    shorter = min(len(mine), len(theirs))
    return bool(shorter) and len(mine & theirs) / shorter >= SAME_SUBJECT


def revive(db: sqlite3.Connection, key: str, scope: Scope, now_s: float) -> bool:
    hidden = rows.held(db, scope.owner, key)
    if hidden is None or hidden.superseded_by is None:
        return False
    db.execute("UPDATE memories SET superseded_by = NULL WHERE id = ?", [hidden.memory_id])
    note(db, now_s, "revived", hidden)
    return True


def forget_source(db: sqlite3.Connection, source: str, scope: Scope) -> int:
    """Delete what came from there, hidden or not; how many are gone."""
    keys = db.execute(
        "SELECT key FROM memories WHERE source = ? AND owner = ?", [source, scope.owner]
    ).fetchall()
    for (key,) in keys:
        rows.forget(db, key, scope)
    return len(keys)


def note(
    db: sqlite3.Connection, now_s: float, action: str, entry: MemoryEntry, other_key: str = ""
) -> None:
    """Write down what happened to a memory; the oldest notes go."""
    (number,) = db.execute(
        "INSERT INTO memory_log (at_s, action, owner, key, other_key) VALUES (?, ?, ?, ?, ?)"
        " RETURNING id",
        [now_s, action, entry.scope.owner, entry.key, other_key],
    ).fetchone()
    db.execute("DELETE FROM memory_log WHERE id <= ?", [number - LOG_ROWS])
