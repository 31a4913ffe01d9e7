import dataclasses
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import camera


async def test_without_a_camera_it_says_what_to_look_at(patient: Patient, tmp_path: Path) -> None:
    finding = await camera.check(dataclasses.replace(patient, devices=tmp_path))
    assert finding.level is Level.OK
    assert "no camera is connected" in finding.sentence


async def test_a_camera_that_is_there_is_named(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camera, "trouble_with_camera", lambda _devices: "")
    assert "camera_capture takes pictures" in (await camera.check(patient)).sentence
