"""Neighbours of a memory in the conversation that it came up in."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from agent.memory.base import Scope
from agent.memory.record import provenance_of
from agent.messages import Provenance

# Turns either side of a good one that are looked at too: the answer is often beside the question
TURNS_AROUND = 2
_SAID_BEFORE = """
SELECT content FROM entries WHERE session = ? AND owner = ? AND id < ?
ORDER BY id DESC LIMIT ?
"""
# One statement for all of them, and numbers alone: a question asks for the window of fifty
_WINDOWS = """
SELECT turn.id, (
    SELECT group_concat(id) FROM (
        SELECT id FROM entries AS said WHERE said.session = turn.session
        AND said.owner = turn.owner AND said.id < turn.id ORDER BY id DESC LIMIT :turns
    )
), (
    SELECT group_concat(id) FROM (
        SELECT id FROM entries AS said WHERE said.session = turn.session
        AND said.owner = turn.owner AND said.id > turn.id ORDER BY id LIMIT :turns
    )
) FROM memories AS turn WHERE turn.id IN (SELECT value FROM json_each(:ids))
"""
_END = 2**63 - 1


class MemoryNeighbours(Struct, frozen=True):
    """Memories and their neighbours in order."""

    memory_ids: frozenset[int]
    following: Mapping[int, int] = field(default_factory=dict)
    preceding: Mapping[int, int] = field(default_factory=dict)

    def beside(self, memory_id: int) -> Iterator[int]:
        """Yield the known neighbours before and after a memory."""
        for way in (self.preceding, self.following):
            here = memory_id
            for _ in range(TURNS_AROUND):
                if here not in way:
                    break
                here = way[here]
                yield here


class SessionTurn(Struct, frozen=True):
    """A memory and its conversation, if it has one."""

    memory_id: int
    session: str | None
    owner: str
    provenance: Provenance


def turns(db: sqlite3.Connection, memory_ids: Iterable[int]) -> list[SessionTurn]:
    found = db.execute(
        "SELECT id, session, owner, provenance FROM entries"
        " WHERE id IN (SELECT value FROM json_each(?))",
        [json.dumps(list(memory_ids))],
    )
    return [
        SessionTurn(memory_id, session, owner, provenance_of(str(provenance)))
        for memory_id, session, owner, provenance in found
    ]


def last_said(db: sqlite3.Connection, scope: Scope) -> str:
    """Return the last lines of a conversation, in order."""
    return "" if scope.session is None else _texts(db, scope.session, scope.owner, _END)


def said_before(db: sqlite3.Connection, memory_id: int) -> str:
    """Return the lines right before a memory in its conversation."""
    found = db.execute("SELECT session, owner FROM entries WHERE id = ?", [memory_id]).fetchone()
    if found is None or found[0] is None:
        return ""
    return _texts(db, found[0], found[1], memory_id)


def around(db: sqlite3.Connection, turns: Iterable[SessionTurn]) -> MemoryNeighbours:
    """Return these memories with two turns either side of each."""
    ids = json.dumps([turn.memory_id for turn in turns])
    found = db.execute(_WINDOWS, {"ids": ids, "turns": TURNS_AROUND})
    return joined(_window(*row) for row in found)


def joined(windows: Iterable[Sequence[int]]) -> MemoryNeighbours:
    """Return the memories of these pieces of conversations, each in order."""
    ids: set[int] = set()
    following: dict[int, int] = {}
    for window in windows:
        ids.update(window)
        following.update(pairwise(window))
    preceding = {after: before for before, after in following.items()}
    return MemoryNeighbours(frozenset(ids), following, preceding)


def _window(memory_id: int, before: str | None, after: str | None) -> list[int]:
    beside = ",".join(filter(None, (before, after)))
    return sorted([memory_id, *map(int, beside.split(",") if beside else ())])


def _texts(db: sqlite3.Connection, session: str, owner: str, memory_id: int) -> str:
    found = db.execute(_SAID_BEFORE, (session, owner, memory_id, TURNS_AROUND))
    return " ".join(reversed([content for (content,) in found]))
