import os
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.security import check_permissions
from tests.fakes.kernel import write


@pytest.fixture
def state(patient: Patient) -> Path:
    patient.state_dir.mkdir(mode=0o700)
    return patient.state_dir


def let_in(folder: Path, mode: int) -> None:
    folder.chmod(mode)


@pytest.mark.usefixtures("state")
async def test_a_folder_for_its_owner_alone_is_fine(patient: Patient) -> None:
    found = await check_permissions(patient)
    assert found.level is Level.OK
    assert "private" in found.sentence


async def test_a_folder_that_others_read_is_failed(patient: Patient, state: Path) -> None:
    let_in(state, 0o755)
    found = await check_permissions(patient)
    assert found.level is Level.FAILED
    assert "`barnacle doctor --fix`" in found.sentence


async def test_what_is_shared_on_purpose_is_no_matter(patient: Patient, state: Path) -> None:
    (state / "workspace").mkdir(mode=0o755)
    let_in(state, 0o710)
    assert (await check_permissions(patient)).level is Level.OK
    (state / "agent.db").write_text("")
    (state / "agent.db").chmod(0o644)
    found = await check_permissions(patient)
    assert found.level is Level.FAILED
    assert "agent.db" in found.sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of somebody else")
async def test_files_of_somebody_else_are_failed(patient: Patient, state: Path) -> None:
    (state / "brain.db").write_text("")
    os.chown(state / "brain.db", 12345, -1)
    found = await check_permissions(patient)
    assert found.level is Level.FAILED
    assert "brain.db" in found.sentence
    assert "sudo" in found.sentence


@pytest.mark.usefixtures("state")
async def test_a_secret_that_others_read_is_failed(patient: Patient, root: Path) -> None:
    write(root, "etc/credstore/barnacle.api_key", "sk-1\n")
    path = root / "etc/credstore/barnacle.api_key"
    path.chmod(0o640)
    found = await check_permissions(patient)
    assert found.level is Level.FAILED
    assert str(path) in found.sentence
    path.chmod(0o600)
    assert (await check_permissions(patient)).level is Level.OK


@pytest.mark.usefixtures("state")
async def test_a_device_that_is_closed_names_its_group(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient.devices.mkdir()
    (patient.devices / "ttyACM0").touch()
    (patient.devices / "sda").touch()
    assert (await check_permissions(patient)).level is Level.OK
    # Root may open everything
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = await check_permissions(patient)
    assert found.level is Level.WARNING
    assert "cannot open" in found.sentence
    assert "ttyACM0" in found.sentence
    assert "usermod -aG" in found.sentence
    assert "sda" not in found.sentence
