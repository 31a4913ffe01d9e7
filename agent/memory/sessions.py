"""What was said around a memory: its neighbours in the conversation that it came up in."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from agent.memory.base import MemoryEntry, Scope

# Turns either side of a good one that are looked at too: the answer is often beside the question
TURNS_AROUND = 2
_BEFORE = """
SELECT id, content FROM entries WHERE session = ? AND owner = ? AND id < ?
ORDER BY id DESC LIMIT ?
"""
_AFTER = """
SELECT id, content FROM entries WHERE session = ? AND owner = ? AND id > ?
ORDER BY id LIMIT ?
"""
_END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Memories with those beside them: which one follows which."""

    memory_ids: frozenset[int]
    following: Mapping[int, int] = field(default_factory=dict)
    preceding: Mapping[int, int] = field(default_factory=dict)

    def beside(self, memory_id: int) -> Iterator[int]:
        """Those before and after it, as far as they are known."""
        for way in (self.preceding, self.following):
            here = memory_id
            for _ in range(TURNS_AROUND):
                if here not in way:
                    break
                here = way[here]
                yield here


def last_said(db: sqlite3.Connection, scope: Scope) -> str:
    """What was said last in a conversation, in its order."""
    return "" if scope.session is None else _texts(db, scope.session, scope.owner, _END)


def said_before(db: sqlite3.Connection, memory_id: int) -> str:
    """What was said in its conversation right before a memory."""
    found = db.execute("SELECT session, owner FROM entries WHERE id = ?", [memory_id]).fetchone()
    if found is None or found[0] is None:
        return ""
    return _texts(db, found[0], found[1], memory_id)


def around(db: sqlite3.Connection, entries: Iterable[MemoryEntry]) -> Surroundings:
    """These memories with two turns either side of each in its conversation."""
    ids: set[int] = set()
    following: dict[int, int] = {}
    for entry in entries:
        window = _window(db, entry)
        ids.update(window)
        following.update(pairwise(window))
    preceding = {after: before for before, after in following.items()}
    return Surroundings(frozenset(ids), following, preceding)


def _window(db: sqlite3.Connection, entry: MemoryEntry) -> list[int]:
    if entry.scope.session is None:
        return [entry.memory_id]
    asked = (entry.scope.session, entry.scope.owner, entry.memory_id, TURNS_AROUND)
    before = [memory_id for memory_id, _ in db.execute(_BEFORE, asked)]
    after = [memory_id for memory_id, _ in db.execute(_AFTER, asked)]
    return [*reversed(before), entry.memory_id, *after]


def _texts(db: sqlite3.Connection, session: str, owner: str, memory_id: int) -> str:
    found = db.execute(_BEFORE, (session, owner, memory_id, TURNS_AROUND))
    return " ".join(reversed([content for _, content in found]))
