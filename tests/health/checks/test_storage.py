import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.health.base import Finding, Level, Patient
from agent.health.checks.storage import check_disk
from agent.machine.readings import Readings
from tests.fakes.kernel import disk, write


async def found_with(patient: Patient, root: Path, answer: os.statvfs_result) -> Finding:
    readings = Readings(patient.state_dir, root, lambda _: answer)
    return await check_disk(replace(patient, readings=readings))


async def test_a_disk_with_room_is_fine(patient: Patient, root: Path) -> None:
    write(root, "proc/self/mountinfo", "1 0 179:4 / / rw - ext4 /dev/mmcblk0p4 rw\n")
    found = await found_with(patient, root, disk(700))
    assert found == Finding.ok("ext4, writable, 700 of 1024 MB free")


async def test_a_read_only_disk_is_failed(patient: Patient, root: Path) -> None:
    found = await found_with(patient, root, disk(700, read_only=True))
    assert found.level is Level.FAILED
    assert "replace the card" in found.sentence


@pytest.mark.parametrize(
    ("free", "level"), [(100, Level.OK), (40, Level.WARNING), (9, Level.FAILED)]
)
async def test_files_run_out_too(patient: Patient, root: Path, free: int, level: Level) -> None:
    assert (await found_with(patient, root, disk(700, free_inodes=free))).level is level


async def test_a_state_in_memory_is_forgotten(patient: Patient, root: Path) -> None:
    write(root, "proc/self/mountinfo", "1 0 0:30 / / rw - tmpfs tmpfs rw\n")
    found = await found_with(patient, root, disk(60))
    assert found.level is Level.WARNING
    assert "lost at the next start" in found.sentence


async def test_a_disk_that_does_not_answer_is_failed(patient: Patient, root: Path) -> None:
    def fail(_: Path) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    readings = Readings(patient.state_dir, root, fail)
    assert (await check_disk(replace(patient, readings=readings))).level is Level.FAILED
