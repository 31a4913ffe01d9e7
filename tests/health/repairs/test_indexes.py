import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.health.base import Patient
from agent.health.repairs.base import RepairResult
from agent.health.repairs.indexes import rebuild_indexes
from agent.storage import lock

SCHEMA = """
CREATE TABLE memories (id INTEGER PRIMARY KEY, key TEXT NOT NULL);
CREATE INDEX memories_key ON memories (key);
CREATE VIRTUAL TABLE memory_words USING fts5(words);
INSERT INTO memories (key) VALUES ('pump'), ('lamp');
INSERT INTO memory_words (words) VALUES ('the pump is on d5');
"""


@pytest.fixture
def database(patient: Patient) -> Path:
    patient.state_dir.mkdir(mode=0o700)
    path = patient.databases[0]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


def lose_an_entry(path: Path) -> None:
    """The index has less than the table, as after a write that was lost."""
    steps = (
        (
            "PRAGMA writable_schema=ON;"
            "CREATE TABLE aside AS SELECT * FROM sqlite_master WHERE name = 'memories_key';"
            "DELETE FROM sqlite_master WHERE name = 'memories_key';"
        ),
        "INSERT INTO memories (key) VALUES ('fan');",
        (
            "PRAGMA writable_schema=ON;"
            "INSERT INTO sqlite_master SELECT * FROM aside; DROP TABLE aside;"
        ),
    )
    for step in steps:
        # The schema is read when a database is opened
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(step)


def lose_words(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM memory_words_data WHERE id > 10")
        connection.commit()


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[200:] = b"\xff" * (len(content) - 200)
    path.write_bytes(content)


def keys(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key FROM memories WHERE key >= 'a' ORDER BY key")
        return [key for (key,) in rows]


def found(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return len(
            connection.execute("SELECT 1 FROM memory_words WHERE words MATCH 'pump'").fetchall()
        )


@pytest.mark.usefixtures("database")
async def test_whole_databases_are_left_alone(patient: Patient) -> None:
    assert await rebuild_indexes(patient) == []


async def test_none_is_made(patient: Patient) -> None:
    assert await rebuild_indexes(patient) == []
    assert not patient.databases[0].exists()


async def test_an_index_that_lost_rows_is_built_anew(patient: Patient, database: Path) -> None:
    lose_an_entry(database)
    assert keys(database) == ["lamp", "pump"]
    assert await rebuild_indexes(patient) == [RepairResult(f"rebuilt the indexes of {database}")]
    assert keys(database) == ["fan", "lamp", "pump"]


async def test_an_index_of_words_is_built_anew(patient: Patient, database: Path) -> None:
    lose_words(database)
    assert await rebuild_indexes(patient) == [RepairResult(f"rebuilt the indexes of {database}")]
    assert found(database) == 1


async def test_under_an_agent_at_work_nothing_is_done(patient: Patient, database: Path) -> None:
    lose_words(database)
    with lock.hold(patient.state_dir):
        (deed,) = await rebuild_indexes(patient)
    assert not deed.is_done
    assert "stop the agent" in deed.sentence


async def test_what_is_beyond_mending_is_said_to_be(patient: Patient, database: Path) -> None:
    spoil(database)
    (deed,) = await rebuild_indexes(patient)
    assert not deed.is_done
    assert "cannot repair" in deed.sentence
