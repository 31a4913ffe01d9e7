import dataclasses
import importlib.util
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import peripherals
from agent.peripherals.settings import PiPinSettings

FAN = {"fan": PiPinSettings(gpio=17)}


async def test_without_a_pin_there_is_nothing_to_look_at(patient: Patient) -> None:
    finding = await peripherals.check_pins(patient)
    assert (finding.level, "no [pins]" in finding.sentence) == (Level.OK, True)


@pytest.mark.parametrize(
    ("device", "spec", "expected"),
    [
        ("null", "found", (Level.WARNING, "gpiochip*")),
        ("gpiochip0", None, (Level.WARNING, "pip install")),
        ("gpiochip0", "found", (Level.OK, "fan (GPIO 17)")),
    ],
)
async def test_it_says_why_there_is_no_tool(
    patient: Patient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    spec: str | None,
    expected: tuple[Level, str],
) -> None:
    (tmp_path / device).touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    finding = await peripherals.check_pins(dataclasses.replace(patient, pins=FAN, devices=tmp_path))
    level, said = expected
    assert (finding.level, said in finding.sentence) == (level, True)
