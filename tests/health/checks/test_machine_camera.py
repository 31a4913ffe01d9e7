from pathlib import Path

import pytest
from msgspec import structs

from agent.health.base import Level, Patient
from agent.health.checks import machine


async def test_without_a_camera_it_says_what_to_look_at(patient: Patient, tmp_path: Path) -> None:
    finding = await machine.check_camera(structs.replace(patient, devices=tmp_path))
    assert finding.level is Level.OK
    assert "no camera found" in finding.sentence


async def test_a_camera_that_is_there_is_named(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "trouble_with_camera", lambda _devices: "")
    assert "takes pictures" in (await machine.check_camera(patient)).sentence
