import os

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import board as firmware
from agent.health.status import AgentStatus, BoardReport, own_start_ticks, write_status
from agent.link.image import FirmwareImage, ImageDescription


@pytest.fixture(autouse=True)
def _carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        firmware, "carried", lambda: [FirmwareImage(ImageDescription("nucleo", 7, (1, 2, 0)), b"")]
    )


def runs(patient: Patient, version: str, state: str = "ready") -> None:
    patient.state_dir.mkdir(exist_ok=True)
    board = BoardReport(state, "/dev/ttyACM0", "nucleo", version)
    write_status(patient.status_file, AgentStatus(os.getpid(), own_start_ticks(), 0.0, board=board))


async def test_without_an_agent_nothing_is_compared(patient: Patient) -> None:
    found = await firmware.check_firmware(patient)
    assert found.level is Level.OK
    assert "firmware for 1 kinds" in found.sentence


@pytest.mark.parametrize(
    ("version", "level", "said"),
    [
        ("1.2.0", Level.OK, "boards run nucleo 1.2.0"),
        ("1.1.9", Level.WARNING, "`barnacle board update`"),
        ("1.10.0", Level.WARNING, "newer than 1.2.0"),
    ],
)
async def test_versions_are_compared_as_numbers(
    patient: Patient, version: str, level: Level, said: str
) -> None:
    runs(patient, version)
    found = await firmware.check_firmware(patient)
    assert found.level is level
    assert said in found.sentence


async def test_a_board_that_is_away_is_not_compared(patient: Patient) -> None:
    runs(patient, "0.1.0", "absent")
    assert (await firmware.check_firmware(patient)).level is Level.OK
