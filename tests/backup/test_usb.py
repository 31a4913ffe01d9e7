from pathlib import Path

import pytest

from agent.backup.usb import usb_folder
from agent.errors import BackupRefused


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Block devices as the kernel shows them: a card, and a disk at a USB port."""
    folder = tmp_path / "block"
    folder.mkdir()
    for name, place in (("mmcblk0p2", "platform/mmc0"), ("sda1", "platform/usb1/1-1/host0")):
        real = tmp_path / "devices" / place / name
        real.mkdir(parents=True)
        (folder / name).symlink_to(real)
    return folder


def mounts(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mounts"
    path.write_text("".join(f"{line} ext4 rw 0 0\n" for line in ("/dev/mmcblk0p2 /", *lines)))
    return path


def test_the_one_that_is_mounted_is_found(tmp_path: Path, blocks: Path) -> None:
    found = usb_folder(mounts(tmp_path, "/dev/sda1 /media/my\\040disk"), blocks)
    assert found == Path("/media/my disk")


def test_one_that_is_not_mounted_is_said_how(tmp_path: Path, blocks: Path) -> None:
    with pytest.raises(BackupRefused, match="sudo mount /dev/sda1 /mnt"):
        usb_folder(mounts(tmp_path), blocks)


def test_of_several_one_has_to_be_named(tmp_path: Path, blocks: Path) -> None:
    twice = mounts(tmp_path, "/dev/sda1 /a", "/dev/sda1 /b")
    with pytest.raises(BackupRefused, match="several USB disks are mounted"):
        usb_folder(twice, blocks)


def test_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="no USB disk is connected"):
        usb_folder(mounts(tmp_path), tmp_path / "none")
