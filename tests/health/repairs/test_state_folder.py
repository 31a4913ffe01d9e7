import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent.health.base import Patient
from agent.health.repairs import state_folder
from agent.health.repairs.base import RepairResult


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
    assert await state_folder.restrict_access(patient) == []


async def test_what_others_may_read_is_closed(patient: Patient, state: Path) -> None:
    journal = made(state / "agent.db", 0o644)
    os.chmod(state, 0o755)  # noqa: PTH101 - Path.chmod counts as waiting
    assert await state_folder.restrict_access(patient) == [
        RepairResult(f"removed other users' access to 2 files in {state}")
    ]
    assert journal.stat().st_mode & 0o777 == 0o640
    assert await state_folder.restrict_access(patient) == []


@pytest.mark.parametrize(
    ("holds_key", "mode", "after"), [(True, 0o644, 0o640), (False, 0o646, 0o644)]
)
@pytest.mark.usefixtures("state")
async def test_a_configuration_is_closed_as_far_as_it_has_to_be(
    patient: Patient, tmp_path: Path, *, holds_key: bool, mode: int, after: int
) -> None:
    config = made(tmp_path / "barnacle.toml", mode)
    configured = replace(patient, config=config, holds_key=holds_key)
    assert await state_folder.restrict_access(configured) == [
        RepairResult(f"removed every other user's access to {config}")
    ]
    assert config.stat().st_mode & 0o777 == after
    assert await state_folder.restrict_access(configured) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody")
async def test_root_gives_back_what_root_has_left(patient: Patient, state: Path) -> None:
    os.chown(state, 12345, 12345)
    made(state / "agent.db", 0o600)
    assert await state_folder.restrict_access(patient) == [
        RepairResult(f"returned 1 files in {state} to their owner")
    ]
    assert (state / "agent.db").stat().st_uid == 12345


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of somebody else")
async def test_who_is_not_root_is_told_the_command(
    patient: Patient, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(state, 12345, 12345)
    made(state / "agent.db", 0o600)
    monkeypatch.setattr(state_folder.os, "geteuid", lambda: 1000)
    (deed,) = await state_folder.restrict_access(patient)
    assert not deed.is_done
    assert f"`sudo barnacle doctor --fix --state-dir {state}`" in deed.sentence
