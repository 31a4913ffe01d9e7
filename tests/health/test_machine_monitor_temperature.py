from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import write

HEAT = "sys/class/thermal/thermal_zone0/temp"


def on(folder: Path) -> Readings:
    return Readings(folder, folder)


def test_a_machine_that_does_not_tell_is_not_judged(tmp_path: Path) -> None:
    assert machine_monitor.judge_temperature(on(tmp_path), is_on=False) is None


@pytest.mark.parametrize(
    ("heat", "is_on", "is_hot"),
    [
        ("79900", False, False),
        ("80000", False, True),
        ("70000", True, True),
        ("69900", True, False),
    ],
)
def test_heat_is_over_when_it_is_cooler_than_where_it_began(
    tmp_path: Path,
    heat: str,
    *,
    is_on: bool,
    is_hot: bool,
) -> None:
    write(tmp_path, HEAT, heat)
    assert bool(machine_monitor.judge_temperature(on(tmp_path), is_on=is_on)) is is_hot
