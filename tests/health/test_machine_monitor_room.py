import os
from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import disk


@pytest.mark.parametrize(
    ("free_mb", "is_on", "is_low"),
    [(50, False, False), (49, False, True), (99, True, True), (100, True, False)],
)
def test_room_is_enough_when_there_is_as_much_again(
    tmp_path: Path,
    free_mb: int,
    *,
    is_on: bool,
    is_low: bool,
) -> None:
    readings = Readings(tmp_path, tmp_path, lambda _: disk(free_mb))
    assert bool(machine_monitor.judge_room(readings, is_on=is_on)) is is_low


def test_files_run_out_too(tmp_path: Path) -> None:
    readings = Readings(tmp_path, tmp_path, lambda _: disk(500, inodes=1000, free_inodes=19))
    assert "files" in (machine_monitor.judge_room(readings, is_on=False) or "")


def test_a_disk_that_does_not_answer_is_not_judged(tmp_path: Path) -> None:
    def fail(_: Path) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    assert machine_monitor.judge_room(Readings(tmp_path, tmp_path, fail), is_on=False) is None
