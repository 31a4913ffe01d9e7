import os
from pathlib import Path

import pytest

from agent.backup.usb import usb_folder
from agent.errors import BackupRefused


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Block devices as the kernel shows them: a card, and a disk of two parts at a USB port."""
    folder = tmp_path / "block"
    folder.mkdir()
    add_disk(folder, "platform/mmc0", "mmcblk0", "mmcblk0p2")
    add_disk(folder, "platform/usb1/1-1/host0", "sda", "sda1", "sda2")
    return folder


def add_disk(blocks: Path, port: str, disk: str, *partitions: str) -> None:
    real = blocks.parent / "devices" / port / "block" / disk
    for name in partitions:
        (real / name).mkdir(parents=True)
        (real / name / "partition").write_text(f"{name[-1]}\n")
        (blocks / name).symlink_to(real / name)
    (blocks / disk).symlink_to(real)


def hold(blocks: Path, partition: str, place: Path) -> None:
    """Let a partition be the one that a place of this machine is on."""
    device = place.stat().st_dev
    (blocks / partition / "dev").write_text(f"{os.major(device)}:{os.minor(device)}\n")


def mounts(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mounts"
    path.write_text("".join(f"{line} ext4 rw 0 0\n" for line in ("/dev/mmcblk0p2 /", *lines)))
    return path


def test_the_one_that_is_mounted_is_found(tmp_path: Path, blocks: Path) -> None:
    found = usb_folder(tmp_path, mounts(tmp_path, "/dev/sda1 /media/my\\040disk"), blocks)
    assert found == Path("/media/my disk")


def test_one_that_is_not_mounted_is_said_how(tmp_path: Path, blocks: Path) -> None:
    with pytest.raises(BackupRefused, match="sudo mount /dev/sda2 /mnt"):
        usb_folder(tmp_path, mounts(tmp_path), blocks)


def test_of_several_one_has_to_be_named(tmp_path: Path, blocks: Path) -> None:
    twice = mounts(tmp_path, "/dev/sda1 /a", "/dev/sda1 /b")
    with pytest.raises(BackupRefused, match="several USB disks are mounted"):
        usb_folder(tmp_path, twice, blocks)


def test_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="no USB disk is connected"):
        usb_folder(tmp_path, mounts(tmp_path), tmp_path / "none")


@pytest.mark.parametrize("place", ["/", "state"])
@pytest.mark.parametrize(
    "mounted", [("/dev/sda2 /",), ("/dev/sda1 /boot/firmware", "/dev/sda2 /"), ()]
)
def test_the_disk_of_the_system_or_of_the_state_is_no_stick(
    tmp_path: Path, blocks: Path, place: str, mounted: tuple[str, ...]
) -> None:
    (tmp_path / "state").mkdir()
    hold(blocks, "sda2", tmp_path / place)
    with pytest.raises(BackupRefused, match="no USB disk is connected but the one that this"):
        usb_folder(tmp_path / "state", mounts(tmp_path, *mounted), blocks)


def test_a_stick_beside_the_disk_of_the_system_is_found(tmp_path: Path, blocks: Path) -> None:
    hold(blocks, "sda2", tmp_path)
    add_disk(blocks, "platform/usb1/1-2/host1", "sdb", "sdb1")
    system = ("/dev/sda1 /boot/firmware", "/dev/sda2 /")
    found = usb_folder(tmp_path, mounts(tmp_path, *system, "/dev/sdb1 /media/stick"), blocks)
    assert found == Path("/media/stick")
    with pytest.raises(BackupRefused, match="sudo mount /dev/sdb1 /mnt"):
        usb_folder(tmp_path, mounts(tmp_path, *system), blocks)
