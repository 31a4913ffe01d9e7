"""Memories that come back beside others that are there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec.structs import replace

from agent.memory import rows
from agent.memory.base import CORE, MemoryEntry, Scope
from agent.memory.restoration import merge_entries
from agent.memory.schema import MIGRATIONS
from agent.messages import Provenance
from agent.storage.database import IN_RAM, open_database

OWNER = Scope("owner")


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(open_database(IN_RAM, MIGRATIONS)) as opened:
        yield opened


def entry(number: int, key: str, content: str, hidden_by: int | None = None) -> MemoryEntry:
    made = MemoryEntry(number, key, content, CORE, Provenance.OWNER, OWNER, 10.0, 10.0)
    return replace(made, superseded_by=hidden_by)


def hider_of(db: sqlite3.Connection, key: str) -> str | None:
    held = rows.held(db, OWNER.owner, key)
    assert held is not None
    by = db.execute("SELECT key FROM memories WHERE id = ?", [held.superseded_by]).fetchone()
    return None if by is None else str(by[0])


def test_what_was_hidden_is_hidden_by_the_same_memory_under_its_number_here(
    db: sqlite3.Connection,
) -> None:
    rows.restore(db, entry(1, "dog", "The dog is called Rex"))
    rows.restore(db, entry(2, "home", "I moved to Bergen"))
    old = [entry(1, "home", "I moved to Bergen"), entry(5, "before", "I live in Oslo", 1)]
    assert merge_entries(db, old) == 1
    assert hider_of(db, "before") == "home"


def test_what_a_lost_memory_hid_is_seen_again_not_hidden_by_another(
    db: sqlite3.Connection,
) -> None:
    rows.restore(db, entry(1, "dog", "The dog is called Rex"))
    assert merge_entries(db, [entry(5, "before", "I live in Oslo", 1)]) == 1
    assert hider_of(db, "before") is None
