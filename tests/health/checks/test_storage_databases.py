from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.storage import check_databases
from agent.storage.database import open_database
from agent.storage.documents import open_documents


def make(path: Path) -> None:
    connection = open_database(path, ["CREATE TABLE t (x TEXT)"])
    connection.execute("INSERT INTO t VALUES (?)", ("x" * 50_000,))
    connection.close()


async def test_none_yet_is_fine(patient: Patient) -> None:
    found = await check_databases(patient)
    assert found.level is Level.OK
    assert not patient.state_dir.exists()


async def test_whole_ones_are_counted(patient: Patient) -> None:
    for path in patient.databases:
        make(path)
    found = await check_databases(patient)
    assert (found.level, found.sentence) == (Level.OK, "2 databases intact")


@pytest.mark.parametrize("name", ["agent.db", "memory/brain.db"])
async def test_a_damaged_one_is_named(patient: Patient, name: str) -> None:
    for path in patient.databases:
        make(path)
    damaged = patient.state_dir / name
    damaged.write_bytes(damaged.read_bytes()[:8192] + b"\x55" * 8192)
    found = await check_databases(patient)
    assert found.level is Level.FAILED
    assert str(damaged) in found.sentence


async def test_one_that_is_no_database_is_named(patient: Patient) -> None:
    patient.state_dir.mkdir()
    patient.databases[0].write_text("not a database" * 500)
    found = await check_databases(patient)
    assert found.level is Level.FAILED
    assert str(patient.databases[0]) in found.sentence


async def test_one_that_was_set_aside_is_a_warning(patient: Patient) -> None:
    patient.state_dir.mkdir()
    patient.databases[0].write_text("not a database" * 500)
    make(patient.databases[0])
    found = await check_databases(patient)
    assert found.level is Level.WARNING
    assert "agent.db.corrupt." in found.sentence


@pytest.mark.parametrize("name", ["people.json", "mcp/approved.json"])
async def test_a_file_of_documents_that_was_set_aside_is_a_warning(
    patient: Patient, name: str
) -> None:
    path = patient.state_dir / name
    path.parent.mkdir(parents=True)
    path.write_text('{"people": {"1": {"na')
    assert open_documents(path).all() == []
    found = await check_databases(patient)
    assert found.level is Level.WARNING
    assert f"{path}.corrupt" in found.sentence
