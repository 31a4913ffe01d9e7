import os
from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import disk


@pytest.mark.parametrize("is_read_only", [True, False])
def test_storage_that_takes_nothing_is_told_of(tmp_path: Path, *, is_read_only: bool) -> None:
    readings = Readings(tmp_path, tmp_path, lambda _: disk(500, read_only=is_read_only))
    assert bool(machine_monitor.judge_writable(readings, is_on=False)) is is_read_only


def test_a_disk_that_does_not_answer_is_not_judged(tmp_path: Path) -> None:
    def fail(_: Path) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    assert machine_monitor.judge_writable(Readings(tmp_path, tmp_path, fail), is_on=False) is None
