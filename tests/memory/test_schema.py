"""Databases of each earlier version, opened by this one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory import restoration, rows
from agent.memory.base import Scope
from agent.memory.record import entry_of
from agent.memory.schema import MIGRATIONS
from agent.memory.sqlite import SqliteMemory
from agent.memory.tombstones import Tombstones
from agent.messages import Provenance
from agent.storage.database import open_database, was_set_aside
from tests.contracts.memory import EVERYBODY, MEI, TOM
from tests.fakes.clock import SteppedClock

# Version 2 was the first that was released
FIRST_RELEASED = 2
_PUT = (
    "INSERT INTO memories (id, person, session, key, content, category, provenance, created_at_s,"
    " updated_at_s, importance, pinned, superseded_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_OLD = (
    (
        3,
        "mei",
        "terminal",
        "sister",
        "my sister lives in Taipei",
        "core",
        "owner",
        1,
        2,
        0.7,
        1,
        None,
    ),
    (5, "mei", None, "home", "my sister lived in Osaka", "core", "user", 1.0, 1.0, 0.5, 0, 3),
    (8, None, None, "wifi", "the wifi is called barn", "daily", "web", 3.0, 3.0, 0.5, 0, None),
    (9, "tom", None, "sister", "tom has no sister", "core", "owner", 4.0, 4.0, 0.5, 0, None),
)


def made_by(version: int, path: Path) -> None:
    """A database as that version left it."""
    with closing(open_database(path, MIGRATIONS[:version])) as db:
        db.executemany(_PUT, _OLD)
        db.execute("INSERT INTO memory_words (rowid, words) SELECT id, content FROM memories")
        db.execute("INSERT INTO memory_vectors (memory_id, model, vector) VALUES (3, 'm', x'00')")


@pytest.mark.parametrize("version", range(FIRST_RELEASED, len(MIGRATIONS) + 1))
async def test_what_an_earlier_version_kept_is_here(version: int, tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    made_by(version, path)
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    sister = await memory.get("sister", MEI)
    assert sister is not None
    assert (sister.memory_id, sister.scope) == (3, Scope("mei", "terminal"))
    assert (sister.provenance, sister.importance, sister.pinned) == (Provenance.OWNER, 0.7, True)
    assert (sister.source, sister.created_at_s, sister.updated_at_s) == ("", 1.0, 2.0)
    assert [entry.key for entry in await memory.recall("sister lives", 5, MEI)] == ["sister"]
    assert {entry.key for entry in await memory.list(EVERYBODY)} == {"wifi"}
    assert await memory.count(TOM) == 2
    hidden = [entry async for entry in memory.entries() if entry.superseded_by is not None]
    assert [(entry.key, entry.superseded_by) for entry in hidden] == [("home", 3)]
    await memory.store("sister", "my sister moved", scope=MEI)
    assert await memory.count() == 3
    await memory.aclose()
    assert was_set_aside(path) == []


@pytest.mark.parametrize("version", range(FIRST_RELEASED, len(MIGRATIONS) + 1))
def test_all_versions_end_with_the_same_tables(version: int, tmp_path: Path) -> None:
    made_by(version, tmp_path / "old.db")
    with (
        closing(open_database(tmp_path / "old.db", MIGRATIONS)) as old,
        closing(open_database(tmp_path / "new.db", MIGRATIONS)) as new,
    ):
        query = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
        assert old.execute(query).fetchall() == new.execute(query).fetchall()


def test_the_column_of_owners_says_what_a_scope_says(tmp_path: Path) -> None:
    scopes = [Scope("p", "s", "g", "d"), Scope(None, "s", "g", "d"), Scope(device="d"), Scope()]
    with closing(open_database(tmp_path / "brain.db", MIGRATIONS)) as db:
        for number, scope in enumerate(scopes):
            db.execute(
                "INSERT INTO memories (key, content, category, provenance, person, session,"
                " group_id, device, created_at_s, updated_at_s)"
                " VALUES (?, '', 'core', 'owner', ?, ?, ?, ?, 0, 0)",
                [f"k{number}", scope.person, scope.session, scope.group, scope.device],
            )
        owners = [row[0] for row in db.execute("SELECT owner FROM memories ORDER BY id")]
    assert owners == [scope.owner for scope in scopes]


def test_nonsense_in_a_row_is_tamed() -> None:
    row = (1, b"k", 3, None, "god", None, 5, None, None, "soon", None, 1e9, "yes", "x", None)
    found = entry_of(row)
    assert found.provenance is Provenance.WEB
    assert (found.created_at_s, found.updated_at_s, found.importance) == (0.0, 0.0, 1.0)
    assert (found.superseded_by, found.scope.session) == (None, "5")


def test_a_database_that_cannot_be_read_gives_nothing_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "brain.db.corrupt.20260101T000000").write_text("no database")
    with closing(sqlite3.connect(":memory:")) as db:
        for step in MIGRATIONS:
            db.executescript(step)
        found = restoration._salvaged(db, tmp_path / "brain.db", Tombstones(tmp_path))
        assert found.startswith("nothing more")
        assert restoration._salvaged(db, tmp_path / "brain.db", Tombstones(tmp_path)) == ""


def test_a_turn_reads_no_memory_to_find_the_pinned_ones(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "brain.db", MIGRATIONS)) as db:
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        rows.pinned(db, MEI)
        db.set_trace_callback(None)
        [statement] = asked
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert "SEARCH memories USING INDEX memories_pinned (owner=?)" in plan
