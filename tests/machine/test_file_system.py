import os
from pathlib import Path

import pytest

from agent.machine.file_system import Card, card, kind_of
from agent.machine.kernel import Kernel
from agent.machine.readings import Readings
from tests.fakes.kernel import a_pi, disk, write

MOUNTS = """\
20 1 179:2 / / ro,relatime - squashfs /dev/root ro
21 20 0:30 / /var rw,nosuid shared:5 - tmpfs tmpfs rw,size=64m
22 21 179:4 /barnacle /var/lib/barnacle rw,noatime - ext4 /dev/mmcblk0p4 rw
23 20 8:1 / /media/my\\040disk rw - vfat /dev/sda1 rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/barnacle/memory", "ext4"),
        ("/var/lib/barnacled", "tmpfs"),
        ("/usr", "squashfs"),
        ("/media/my disk/x", "vfat"),
    ],
)
def test_the_nearest_mount_says_the_kind(folder: str, kind: str) -> None:
    assert kind_of(Path(folder), MOUNTS) == kind


def test_of_two_mounts_at_one_place_the_later_counts() -> None:
    assert kind_of(Path("/data"), "1 0 8:1 / /data rw - ext4 a\n2 0 8:1 / /data rw - xfs b\n") == (
        "xfs"
    )


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3 4 - ext4", "1 2 3 / /x rw -"])
def test_other_lines_say_nothing(text: str) -> None:
    assert kind_of(Path("/x"), text) == ""


def test_a_folder_that_is_not_there_yet_has_the_room_of_the_one_above(tmp_path: Path) -> None:
    asked: list[Path] = []

    def statvfs(path: Path) -> os.statvfs_result:
        asked.append(path)
        return disk(700, inodes=200, free_inodes=50, read_only=True)

    found = Readings(tmp_path / "a/b", tmp_path, statvfs).room()
    assert asked == [tmp_path]
    assert found is not None
    assert (found.free_mb, found.total_mb) == (700, 1024)
    assert found.free_inodes_percent == 25
    assert found.is_read_only


def test_a_file_system_without_a_number_of_inodes_has_no_share(tmp_path: Path) -> None:
    found = Readings(tmp_path, tmp_path, lambda _: disk(1, inodes=0)).room()
    assert found is not None
    assert found.free_inodes_percent is None


def test_a_disk_that_cannot_be_asked_is_none(tmp_path: Path) -> None:
    def fail(_: Path) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    assert Readings(tmp_path, tmp_path, fail).room() is None


def test_wear_is_that_of_the_more_worn_kind(tmp_path: Path) -> None:
    assert card(Kernel(a_pi(tmp_path))) == Card(20, "", (("mmcblk0p4", 3),))


def test_an_sd_card_tells_no_wear(tmp_path: Path) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/type", "SD\n")
    assert card(Kernel(tmp_path)) == Card()


@pytest.mark.parametrize(
    ("text", "percent"), [("0x0b 0x01", 110), ("0x00 0x00", None), ("?", None), ("0xff", None)]
)
def test_only_steps_of_the_standard_count(tmp_path: Path, text: str, percent: int | None) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/life_time", text)
    assert card(Kernel(tmp_path)).used_percent == percent


def test_spare_blocks_that_run_out_are_told(tmp_path: Path) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/pre_eol_info", "0x03\n")
    assert card(Kernel(tmp_path)).reserve == "the spare blocks are used up"


def test_errors_are_summed_up(tmp_path: Path) -> None:
    for device, count in (("sda1", "0"), ("mmcblk0p2", "2"), ("mmcblk0p4", "5")):
        write(tmp_path, f"sys/fs/ext4/{device}/errors_count", count)
    found = card(Kernel(tmp_path))
    assert found.errors == (("mmcblk0p2", 2), ("mmcblk0p4", 5))
    assert found.error_count == 7
