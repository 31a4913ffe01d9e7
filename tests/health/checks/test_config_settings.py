from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import config


@pytest.fixture
def device(root: Path) -> Path:
    folder = root / "data/device"
    folder.mkdir(parents=True)
    return folder


async def test_elsewhere_than_on_a_card_there_is_nothing_to_say(patient: Patient) -> None:
    found = await config.check_settings(patient)
    assert found.level is Level.OK
    assert "barnacle setup" in found.sentence


async def test_what_was_refused_is_repeated(patient: Patient, device: Path) -> None:
    (device / "refused").write_text("barnacle.toml: `wifi.ssid`: must be\nand another\n")
    found = await config.check_settings(patient)
    assert found.level is Level.WARNING
    assert "`wifi.ssid`: must be (and 1 more)" in found.sentence


async def test_what_was_taken_over_is_fine(patient: Patient, device: Path) -> None:
    assert "still empty" in (await config.check_settings(patient)).sentence
    (device / "taken-over").write_text("0")
    found = await config.check_settings(patient)
    assert (found.level, "in use" in found.sentence) == (Level.OK, True)
