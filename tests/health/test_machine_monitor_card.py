from pathlib import Path

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import write


def on(folder: Path) -> Readings:
    return Readings(folder, folder)


def test_a_card_with_errors_or_at_its_end_is_told_of(tmp_path: Path) -> None:
    assert machine_monitor.judge_card(on(tmp_path), is_on=False) == ""
    write(tmp_path, "sys/block/mmcblk0/device/pre_eol_info", "0x03")
    assert "spare blocks" in machine_monitor.judge_card(on(tmp_path), is_on=False)
    write(tmp_path, "sys/fs/ext4/mmcblk0p4/errors_count", "2")
    assert "2 on mmcblk0p4" in machine_monitor.judge_card(on(tmp_path), is_on=False)
