from contextlib import closing
from pathlib import Path

import pytest

from agent.approvals import effect_counts
from agent.health.base import Level, Patient
from agent.health.checks.security import check_audit
from agent.messaging.journal import MIGRATIONS
from agent.security.audit import Audit, files_of
from agent.storage.database import open_database
from tests.fakes.clock import SteppedClock


@pytest.fixture
def log(patient: Patient) -> Path:
    """Of four rows, the last one anchored."""
    audit = Audit(patient.state_dir / "audit", lambda text: text, SteppedClock())
    for number in range(2):
        audit.append({"value": number}, durable=False)
    link = audit.append({"value": 2}, durable=True)
    audit.close()
    with closing(open_database(patient.state_dir / "agent.db", MIGRATIONS)) as database:
        effect_counts.anchor(database, link)
    return files_of(patient.state_dir / "audit")[0]


def leave(log: Path, rows: int) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:rows]))


def forge(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b'"value":1', b'"value":9'))


def displace(log: Path) -> None:
    log.unlink()
    log.mkdir()


async def test_none_yet_is_fine(patient: Patient) -> None:
    found = await check_audit(patient)
    assert (found.level, found.sentence) == (Level.OK, "no audit log yet")
    assert not patient.state_dir.exists()


@pytest.mark.usefixtures("log")
async def test_a_whole_one_is_counted(patient: Patient) -> None:
    found = await check_audit(patient)
    assert (found.level, found.sentence) == (Level.OK, "audit log intact: 4 rows")


async def test_a_changed_row_is_told(patient: Patient, log: Path) -> None:
    forge(log)
    found = await check_audit(patient)
    assert found.level is Level.FAILED
    assert "line 3: the line was changed" in found.sentence


@pytest.mark.parametrize("left", [0, 2])
async def test_a_missing_end_is_told(patient: Patient, log: Path, left: int) -> None:
    leave(log, left)
    found = await check_audit(patient)
    assert found.level is Level.FAILED
    assert f"row 4 was written after row {left}" in found.sentence


async def test_one_that_cannot_be_read_is_told(patient: Patient, log: Path) -> None:
    displace(log)
    found = await check_audit(patient)
    assert found.level is Level.FAILED
    assert "cannot read" in found.sentence
