from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks.storage import check_card
from tests.fakes.kernel import write


async def test_a_card_that_says_nothing_is_fine(patient: Patient) -> None:
    found = await check_card(patient)
    assert found.level is Level.OK
    assert "does not report its wear" in found.sentence


@pytest.mark.parametrize(
    ("life", "level"),
    [("0x01 0x07", Level.OK), ("0x08 0x01", Level.WARNING), ("0x0b 0x01", Level.FAILED)],
)
async def test_wear_decides(patient: Patient, root: Path, life: str, level: Level) -> None:
    write(root, "sys/block/mmcblk0/device/life_time", life)
    assert (await check_card(patient)).level is level


async def test_errors_of_a_file_system_are_failed(patient: Patient, root: Path) -> None:
    write(root, "sys/fs/ext4/mmcblk0p4/errors_count", "2\n")
    found = await check_card(patient)
    assert found.level is Level.FAILED
    assert "2 on mmcblk0p4" in found.sentence


@pytest.mark.parametrize(
    "message",
    [
        "mmc0: error -110 whilst initialising SD card",
        "mmc0: Timeout waiting for hardware interrupt.",
        "I/O error, dev mmcblk0, sector 2048 op 0x0:(READ)",
        "EXT4-fs error (device mmcblk0p4): ext4_find_entry:1455",
    ],
)
async def test_what_the_kernel_complains_of_is_quoted(
    patient: Patient, root: Path, message: str
) -> None:
    write(root, "sys/block/mmcblk0/size", "62333952\n")
    write(root, "dev/kmsg", f"6,1,100,-;mmc0: new high speed SDHC card\n3,2,200,-;{message}\n")
    found = await check_card(patient)
    assert found.level is Level.FAILED
    assert f"1 times, last: {message}" in found.sentence


async def test_a_line_without_a_card_is_the_wifi_or_an_empty_slot(
    patient: Patient, root: Path
) -> None:
    # People report both of the kernel of Raspberry Pi
    write(root, "sys/block/mmcblk0/size", "62333952\n")
    write(root, "dev/kmsg", "3,2,200,-;mmc1: Timeout waiting for hardware interrupt.\n")
    assert (await check_card(patient)).level is Level.OK


async def test_other_messages_are_nothing(patient: Patient, root: Path) -> None:
    write(root, "dev/kmsg", "6,1,100,-;usb 1-1: error -71\n6,2,1,-;mmcblk0: p1 p2 p3 p4\n")
    assert (await check_card(patient)).level is Level.OK


STICK = "devices/platform/scb/fd500000.pcie/usb2/2-1/host0/block/sda"


@pytest.mark.parametrize(
    "message",
    [
        "I/O error, dev sda, sector 2048 op 0x1:(WRITE)",
        "EXT4-fs error (device sda1): ext4_journal_check_start:83",
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
async def test_a_stick_in_a_usb_port_is_not_the_card(
    patient: Patient, root: Path, message: str, *, is_there: bool
) -> None:
    """Whoever pulls it out in the middle of a backup has a good card all the same."""
    write(root, "proc/self/mountinfo", "1 0 179:2 / / rw - ext4 /dev/mmcblk0p2 rw\n")
    if is_there:
        write(root, f"sys/{STICK}/size", "62333952\n")
        (root / "sys/block").mkdir()
        (root / "sys/block/sda").symlink_to(root / "sys" / STICK)
        write(root, "sys/fs/ext4/sda1/errors_count", "2\n")
    write(root, "dev/kmsg", f"3,2,200,-;{message}\n")
    assert (await check_card(patient)).level is Level.OK


@pytest.mark.parametrize(
    "mounted", ["1 0 8:2 / / rw - ext4 /dev/root rw", "9 1 8:2 / STATE rw - ext4 /dev/sda2 rw"]
)
async def test_a_usb_disk_that_the_system_runs_from_is_as_a_card(
    patient: Patient, root: Path, mounted: str
) -> None:
    state = str(patient.readings.folder.parent)
    write(root, "proc/self/mountinfo", f"{mounted.replace('STATE', state)}\n")
    write(root, f"sys/{STICK}/size", "62333952\n")
    (root / "sys/block").mkdir()
    (root / "sys/block/sda").symlink_to(root / "sys" / STICK)
    write(root, "dev/kmsg", "3,2,200,-;I/O error, dev sda, sector 2048 op 0x1:(WRITE)\n")
    assert (await check_card(patient)).level is Level.FAILED


async def test_a_disk_inside_is_as_a_card(patient: Patient, root: Path) -> None:
    write(root, "sys/block/sda/size", "62333952\n")
    write(root, "dev/kmsg", "3,2,200,-;I/O error, dev sda, sector 2048 op 0x1:(WRITE)\n")
    assert (await check_card(patient)).level is Level.FAILED
