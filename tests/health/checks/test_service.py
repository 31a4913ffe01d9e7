from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.health.base import Finding, Level, Patient
from agent.health.checks import service
from tests.fakes.kernel import write


@pytest.fixture
def installed(root: Path) -> Path:
    (root / "run/systemd/system").mkdir(parents=True)
    write(root, "etc/systemd/system/barnacle.service", "[Service]\n")
    return root


async def found_by(patient: Patient, folder: Path, script: str) -> Finding:
    program = folder / "systemd-analyze"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return await service.check_service(replace(patient, analyzer=program))


async def test_without_systemd_there_is_no_score(patient: Patient) -> None:
    found = await service.check_service(patient)
    assert found.level is Level.OK
    assert "no systemd" in found.sentence


async def test_a_unit_that_is_not_installed_has_none(patient: Patient, root: Path) -> None:
    (root / "run/systemd/system").mkdir(parents=True)
    found = await service.check_service(patient)
    assert found.level is Level.OK
    assert "scripts/install" in found.sentence


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("score", "level"), [("1.7", Level.OK), ("9.2", Level.WARNING)])
async def test_the_score_decides(
    patient: Patient, tmp_path: Path, score: str, level: Level
) -> None:
    line = f"→ Overall exposure level for barnacle.service: {score} OK 🙂"
    found = await found_by(patient, tmp_path, f'test "$1" = security && echo "{line}"')
    assert found.level is level
    assert score in found.sentence


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("script", ["exit 1", "echo level for x: ...", "kill -9 $$"])
async def test_a_program_that_says_nothing_is_a_warning(
    patient: Patient, tmp_path: Path, script: str
) -> None:
    assert (await found_by(patient, tmp_path, script)).level is Level.WARNING


@pytest.mark.usefixtures("installed")
async def test_a_program_that_is_not_there_is_a_warning(patient: Patient, tmp_path: Path) -> None:
    found = await service.check_service(replace(patient, analyzer=tmp_path / "none"))
    assert found.level is Level.WARNING


@pytest.mark.usefixtures("installed")
async def test_a_program_that_hangs_is_ended(
    patient: Patient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_TIMEOUT_S", 0.1)
    found = await found_by(patient, tmp_path, "exec sleep 30")
    assert found.level is Level.WARNING
