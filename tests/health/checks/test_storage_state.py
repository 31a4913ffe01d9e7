import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from agent.health.base import Level, Patient
from agent.health.checks.storage import check_state

MB = 1024 * 1024


class Usage(NamedTuple):
    free: int
    total: int


@pytest.mark.parametrize(
    ("free_mb", "total_mb", "level"),
    [
        (10_000, 30_000, Level.OK),
        (499, 30_000, Level.WARNING),
        (49, 30_000, Level.FAILED),
        # A small card that is nearly empty, and one that is not
        (325, 353, Level.OK),
        (80, 353, Level.WARNING),
        (49, 100, Level.FAILED),
    ],
)
async def test_room_decides(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, free_mb: int, total_mb: int, level: Level
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free_mb * MB, total_mb * MB))
    found = await check_state(patient)
    assert found.level is level
    assert f"{free_mb} MB" in found.sentence


async def test_looking_makes_no_folder(patient: Patient) -> None:
    await check_state(patient)
    assert not patient.state_dir.exists()


async def test_a_file_in_its_place_is_failed(patient: Patient) -> None:
    patient.state_dir.write_text("")
    assert (await check_state(patient)).level is Level.FAILED


async def test_a_folder_that_cannot_be_written_is_failed(patient: Patient) -> None:
    # Nobody, not even root, makes files there
    found = await check_state(replace(patient, state_dir=Path(f"/proc/{os.getpid()}/task")))
    assert found.level is Level.FAILED
    assert "BARNACLE_STATE_DIR" in found.sentence


@pytest.mark.parametrize(
    ("number", "told"), [(errno.EROFS, "read-only"), (errno.ENOSPC, "free some space")]
)
async def test_what_keeps_it_from_being_written_has_its_own_remedy(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    def refuse(**_place: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = await check_state(patient)
    assert found.level is Level.FAILED
    assert told in found.sentence
    assert "owner" not in found.sentence
