import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.health.base import Patient
from agent.health.repairs import storage
from agent.health.repairs.base import RepairResult
from agent.health.repairs.storage import rebuild_indexes
from agent.storage import lock


@pytest.fixture
def state(patient: Patient) -> Path:
    patient.state_dir.mkdir(mode=0o700)
    return patient.state_dir


def made(path: Path, mode: int) -> Path:
    path.write_text("")
    path.chmod(mode)
    return path


@pytest.mark.usefixtures("state")
async def test_where_all_is_well_nothing_is_done(patient: Patient) -> None:
    assert await storage.restrict_access(patient) == []


async def test_what_others_may_read_is_closed(patient: Patient, state: Path) -> None:
    journal = made(state / "agent.db", 0o644)
    os.chmod(state, 0o755)  # noqa: PTH101 - Path.chmod counts as waiting
    assert await storage.restrict_access(patient) == [
        RepairResult(f"removed other users' access to 2 files in {state}")
    ]
    assert journal.stat().st_mode & 0o777 == 0o640
    assert await storage.restrict_access(patient) == []


@pytest.mark.parametrize(
    ("holds_key", "mode", "after"), [(True, 0o644, 0o640), (False, 0o646, 0o644)]
)
@pytest.mark.usefixtures("state")
async def test_a_configuration_is_closed_as_far_as_it_has_to_be(
    patient: Patient, tmp_path: Path, *, holds_key: bool, mode: int, after: int
) -> None:
    config = made(tmp_path / "barnacle.toml", mode)
    configured = replace(patient, config=config, holds_key=holds_key)
    assert await storage.restrict_access(configured) == [
        RepairResult(f"removed every other user's access to {config}")
    ]
    assert config.stat().st_mode & 0o777 == after
    assert await storage.restrict_access(configured) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody")
async def test_root_gives_back_what_root_has_left(patient: Patient, state: Path) -> None:
    os.chown(state, 12345, 12345)
    made(state / "agent.db", 0o600)
    assert await storage.restrict_access(patient) == [
        RepairResult(f"returned 1 files in {state} to their owner")
    ]
    assert (state / "agent.db").stat().st_uid == 12345


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of somebody else")
async def test_who_is_not_root_is_told_the_command(
    patient: Patient, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(state, 12345, 12345)
    made(state / "agent.db", 0o600)
    monkeypatch.setattr(storage.os, "geteuid", lambda: 1000)
    (deed,) = await storage.restrict_access(patient)
    assert not deed.is_done
    assert f"`sudo barnacle doctor --fix --state-dir {state}`" in deed.sentence


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
