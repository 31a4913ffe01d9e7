import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup.record import LastBackup, write_record
from agent.health.base import Level, Patient
from agent.health.checks.storage import check_backup

DAY_S = 86_400.0


@pytest.mark.parametrize(
    ("days", "trouble", "level", "says"),
    [
        (0.1, "", Level.OK, "last backup: today, /media/usb/x"),
        (3.2, "", Level.OK, "last backup: 3 days ago"),
        (1.5, "", Level.OK, "last backup: 1 day ago"),
        (40, "", Level.WARNING, "40 days ago"),
        (2.1, "no room", Level.FAILED, "the last try failed: no room"),
    ],
)
async def test_the_age_of_the_last_backup_is_said(
    patient: Patient, tmp_path: Path, days: float, trouble: str, level: Level, says: str
) -> None:
    made_at_s = time.time() - days * DAY_S
    write_record(tmp_path, LastBackup(made_at_s=made_at_s, where="/media/usb/x", trouble=trouble))
    found = await check_backup(replace(patient, state_dir=tmp_path))
    assert found.level is level
    assert says in found.sentence


async def test_none_is_a_warning_with_a_way_out(patient: Patient, tmp_path: Path) -> None:
    found = await check_backup(replace(patient, state_dir=tmp_path))
    assert found.level is Level.WARNING
    assert found.sentence.startswith("no backup: a dead card loses everything")
    write_record(tmp_path, LastBackup(tried_at_s=1.0, trouble="no room"))
    found = await check_backup(replace(patient, state_dir=tmp_path))
    assert "the last try failed: no room" in found.sentence
