from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import write

RADIO = (
    "Inter-| sta-|   Quality\n face | tus | link level noise\n"
    " wlan0: 0000   21.  {}.  -256        0      0      0      0      0        0\n"
)


def on(folder: Path) -> Readings:
    return Readings(folder, folder)


@pytest.mark.parametrize(
    ("level", "is_on", "is_faint"),
    [
        (-79, False, False),
        (-80, False, True),
        (-75, True, True),
        (-74, True, True),
        (-73, True, False),
    ],
)
def test_a_faint_radio_is_over_when_it_is_heard_well(
    tmp_path: Path,
    level: int,
    *,
    is_on: bool,
    is_faint: bool,
) -> None:
    write(tmp_path, "proc/net/wireless", RADIO.format(level))
    assert bool(machine_monitor.judge_wifi(on(tmp_path), is_on=is_on)) is is_faint


def test_a_machine_by_cable_has_no_faint_radio(tmp_path: Path) -> None:
    assert machine_monitor.judge_wifi(on(tmp_path), is_on=True) == ""
