from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import write

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"


def on(folder: Path) -> Readings:
    return Readings(folder, folder)


def test_a_machine_that_does_not_tell_is_not_judged(tmp_path: Path) -> None:
    assert machine_monitor.judge_voltage(on(tmp_path), is_on=False) is None


@pytest.mark.parametrize(("bits", "is_weak"), [("0", False), ("50000", False), ("1", True)])
def test_only_what_is_now_is_a_weak_supply(tmp_path: Path, bits: str, *, is_weak: bool) -> None:
    write(tmp_path, FIRMWARE, bits)
    assert bool(machine_monitor.judge_voltage(on(tmp_path), is_on=False)) is is_weak
