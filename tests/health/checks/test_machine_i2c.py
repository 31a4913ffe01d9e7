import importlib.util
from pathlib import Path

import pytest
from msgspec import structs

from agent.health.base import Level, Patient
from agent.health.checks import machine
from agent.peripherals.settings import I2cSettings

SENSOR = {"sensor": I2cSettings(address=0x76)}


async def test_without_a_device_there_is_nothing_to_look_at(patient: Patient) -> None:
    finding = await machine.check_i2c(patient)
    assert (finding.level, "no [i2c]" in finding.sentence) == (Level.OK, True)


@pytest.mark.parametrize(
    ("device", "spec", "expected"),
    [
        ("null", "found", (Level.WARNING, "raspi-config")),
        ("i2c-1", None, (Level.WARNING, "pip install")),
        ("i2c-20", "found", (Level.WARNING, "sensor (/dev/i2c-1)")),
        ("i2c-1", "found", (Level.OK, "tools available for sensor")),
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
    finding = await machine.check_i2c(structs.replace(patient, i2c=SENSOR, devices=tmp_path))
    level, said = expected
    assert (finding.level, said in finding.sentence) == (level, True)
