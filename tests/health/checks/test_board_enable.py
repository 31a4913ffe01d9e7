import importlib.util

import pytest
from msgspec import structs

from agent.health.base import Level, Patient
from agent.health.checks import board


async def test_without_a_line_there_is_nothing_to_look_at(patient: Patient) -> None:
    finding = await board.check_enable(patient)
    assert (finding.level, "no enable_gpio" in finding.sentence) == (Level.OK, True)


@pytest.mark.parametrize(("spec", "level"), [(None, Level.FAILED), ("found", Level.OK)])
async def test_a_line_needs_its_library(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, spec: str | None, level: Level
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    finding = await board.check_enable(structs.replace(patient, enable_gpios=(17,)))
    assert finding.level is level
    assert "GPIO 17" in finding.sentence
