import os
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import service


@pytest.fixture
def journald(root: Path) -> Path:
    (root / "run/systemd/journal").mkdir(parents=True)
    return root


async def test_no_journal_is_no_trouble(patient: Patient) -> None:
    assert (await service.check_journal(patient)).level is Level.OK


@pytest.mark.usefixtures("journald")
async def test_a_journal_that_is_forgotten_is_a_warning(patient: Patient) -> None:
    found = await service.check_journal(patient)
    assert found.level is Level.WARNING
    assert "mkdir -p /var/log/journal" in found.sentence


async def test_a_journal_that_is_kept_is_fine(patient: Patient, journald: Path) -> None:
    folder = journald / "var/log/journal/0123"
    folder.mkdir(parents=True)
    (folder / "system.journal").write_bytes(os.urandom(3 * 1024 * 1024))
    found = await service.check_journal(patient)
    assert found.level is Level.OK
    assert "3 MB" in found.sentence


async def test_a_large_one_is_a_warning(
    patient: Patient, journald: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (journald / "var/log/journal").mkdir(parents=True)
    monkeypatch.setattr(service, "_LARGE_MB", -1)
    found = await service.check_journal(patient)
    assert found.level is Level.WARNING
    assert "--vacuum-size" in found.sentence
