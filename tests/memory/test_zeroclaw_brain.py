import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory import imports
from agent.memory.base import CONVERSATION, CORE
from agent.memory.transfer import TransferResult
from agent.messages import Provenance
from tests.contracts.memory import MEI
from tests.memory.conftest import MakeMemory

_TABLE = """
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
    category TEXT NOT NULL, embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    session_id TEXT, superseded_by TEXT)
"""


def brain(path: Path) -> Path:
    """A file as ZeroClaw writes it."""
    rows = [
        ("a", "sister", "The sister is called Mei", "core", None),
        ("b", "chat1", "what is the time", "conversation", None),
        ("c", "old", "The sister is called Ana", "core", "a"),
        ("d", "own", "Mei likes tea", "recipes", None),
        ("e", "empty", " ", "core", None),
    ]
    with closing(sqlite3.connect(path)) as db:
        db.execute(_TABLE)
        for memory_id, key, content, category, by in rows:
            values = (memory_id, key, content, category, "2026-03-01T10:00:00+00:00", by)
            db.execute(
                "INSERT INTO memories (id, key, content, category, created_at, updated_at,"
                " superseded_by) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
                values,
            )
        db.commit()
    return path


async def test_zeroclaws_database_is_read(make_memory: MakeMemory, tmp_path: Path) -> None:
    memory = make_memory(NoEmbedder())
    moved = await imports.bring_in(memory, brain(tmp_path / "theirs.db"), MEI)
    assert moved == TransferResult(3, unreadable=1)
    found = {one.key: one async for one in memory.entries()}
    assert found["sister"].content == "The sister is called Mei"
    assert (found["sister"].category, found["chat1"].category) == (CORE, CONVERSATION)
    assert found["own"].category == CORE
    assert found["sister"].provenance is Provenance.WEB
    assert found["sister"].created_at_s == 1772359200.0
    assert not (tmp_path / "theirs.db-wal").exists()


async def test_what_is_only_in_the_log_of_a_running_agent_is_read(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory(NoEmbedder())
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        # As ZeroClaw opens it
        theirs.execute("PRAGMA journal_mode=WAL")
        theirs.execute("SELECT * FROM sqlite_master").fetchall()
        brain(path)
        before = {one.name: one.read_bytes() for one in (path, path.with_name("theirs.db-wal"))}
        assert before["theirs.db-wal"]
        moved = await imports.bring_in(memory, path, MEI)
        assert moved == TransferResult(3, unreadable=1)
        after = {one: (tmp_path / one).read_bytes() for one in before}
    assert after == before


async def test_a_database_of_ours_comes_with_every_field(
    make_memory: MakeMemory, path: Path, tmp_path: Path
) -> None:
    memory = make_memory(NoEmbedder())
    await memory.store("a", "Mei likes tea", scope=MEI, provenance=Provenance.OWNER)
    before = [entry async for entry in memory.entries()]
    away = tmp_path / "away.db"
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(away)) as copy:
        db.backup(copy)
    await memory.forget("a", MEI)
    await imports.bring_in(memory, away, MEI, Provenance.OWNER)
    assert [entry async for entry in memory.entries()] == before


@pytest.mark.parametrize(
    "content",
    [
        b"SQLite format 3\0" + b"\0" * 200,
        b"\x89PNG\r\n\x1a\n\xff\xfe",
        b"text with \0 in it",
        b'{"a": [1, 2]}',
        b"[1, 2",
        b'{"results": [{"memory": "fine"}, {"memory": 3}]}',
    ],
)
async def test_what_is_not_understood_is_refused_whole(
    make_memory: MakeMemory, tmp_path: Path, content: bytes
) -> None:
    memory = make_memory(NoEmbedder())
    file = tmp_path / "unknown"
    file.write_bytes(content)
    with pytest.raises(MemoryUnavailable, match="unknown"):
        await imports.bring_in(memory, file, MEI)
    with pytest.raises(MemoryUnavailable):
        await imports.count(file)
    assert await memory.count() == 0


async def test_another_programs_database_is_refused(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory(NoEmbedder())
    file = tmp_path / "contacts.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE memories (id INTEGER, text TEXT)")
        db.commit()
    with pytest.raises(MemoryUnavailable, match="Nothing was imported"):
        await imports.bring_in(memory, file, MEI)
