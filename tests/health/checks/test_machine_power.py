from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.machine import check_power
from tests.fakes.kernel import write

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
HEAT = "sys/class/thermal/thermal_zone0/temp"


async def test_a_kernel_that_does_not_tell_is_no_trouble(patient: Patient) -> None:
    found = await check_power(patient)
    assert found.level is Level.OK
    assert "does not report" in found.sentence


@pytest.mark.parametrize(
    ("bits", "level", "said"),
    [
        ("0", Level.OK, "supply voltage correct"),
        ("50001", Level.FAILED, "too low"),
        ("50000", Level.WARNING, "too low since the start"),
        ("4", Level.WARNING, "too hot"),
        ("40000", Level.OK, "throttled since start"),
    ],
)
async def test_the_supply_is_judged(
    patient: Patient, root: Path, bits: str, level: Level, said: str
) -> None:
    write(root, FIRMWARE, bits)
    found = await check_power(patient)
    assert found.level is level
    assert said in found.sentence


@pytest.mark.parametrize(("heat", "level"), [("79900", Level.OK), ("80000", Level.WARNING)])
async def test_heat_is_told(patient: Patient, root: Path, heat: str, level: Level) -> None:
    write(root, HEAT, heat)
    found = await check_power(patient)
    assert found.level is level
    assert "°C" in found.sentence
