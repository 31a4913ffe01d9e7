"""Memories that are read from a damaged database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from agent.memory import rows, salvage
from agent.memory.schema import MIGRATIONS
from agent.messages import Provenance
from agent.storage.database import open_database
from tests.contracts.people import MEI


def test_salvage_goes_on_behind_an_unreadable_row(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    pages = _of_many_pages(path)
    damaged = bytearray(path.read_bytes())
    # One page in the middle of the texts
    place = damaged.index(b"fact 100 ")
    start = place - place % 4096
    damaged[start : start + 4096] = bytes(4096)
    path.write_bytes(damaged)
    with closing(sqlite3.connect(path)) as db:
        found = {entry.key for entry in salvage.readable(db)}
    assert len(found) >= pages - 30
    assert {"k1", f"k{pages}"} <= found


def test_salvage_gives_nobodys_row_to_everybody(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    _of_many_pages(path)
    with closing(open_database(path, MIGRATIONS)) as db:
        db.execute(
            "INSERT INTO memories (key, content, category, provenance, created_at_s, updated_at_s)"
            " VALUES ('lost', 'a lost owner', 'core', 'owner', 1, 1)"
        )
        entry = rows.held(db, "", "lost")
        assert entry is not None
        assert "lost" not in {one.key for one in salvage.readable(db)}
        rows.index_again(db, entry)
        assert "lost" in {one.key for one in salvage.readable(db)}


def _of_many_pages(path: Path) -> int:
    """A database of that many memories, ten a page."""
    with closing(open_database(path, MIGRATIONS)) as db:
        for number in range(1, 301):
            content = f"fact {number} " + "word " * 60
            draft = rows.MemoryDraft(f"k{number}", content, "core", MEI, Provenance.OWNER)
            rows.put(db, draft, 1.0)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return 300
