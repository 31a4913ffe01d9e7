from dataclasses import replace
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.config import check_config


async def test_no_file_is_fine(patient: Patient) -> None:
    assert (await check_config(patient)).level is Level.OK


async def test_a_refusal_is_failed_with_its_first_line(patient: Patient) -> None:
    found = await check_config(
        replace(patient, refusal="b.toml: `a`: unknown key\nb.toml: `b`: wrong")
    )
    assert found.level is Level.FAILED
    assert found.sentence == "b.toml: `a`: unknown key (and 1 more: run `barnacle check`)"


@pytest.mark.parametrize(
    ("mode", "level"),
    [(0o600, Level.OK), (0o640, Level.OK), (0o644, Level.WARNING), (0o666, Level.FAILED)],
)
async def test_a_file_with_a_key_is_kept_from_others(
    patient: Patient, tmp_path: Path, mode: int, level: Level
) -> None:
    path = tmp_path / "barnacle.toml"
    path.write_text("")
    path.chmod(mode)
    found = await check_config(replace(patient, config=path, holds_key=True))
    assert found.level is level


async def test_a_file_without_a_key_may_be_read_by_all(patient: Patient, tmp_path: Path) -> None:
    path = tmp_path / "barnacle.toml"
    path.write_text("")
    path.chmod(0o644)
    assert (await check_config(replace(patient, config=path))).level is Level.OK
