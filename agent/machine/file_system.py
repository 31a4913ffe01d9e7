"""File systems of the machine: free space and kind, errors, and the wear of the card.

Only eMMC reports its wear; an SD card shows only the errors that it causes.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agent.machine.kernel import Kernel

Statvfs = Callable[[Path], os.statvfs_result]

_BYTES_PER_MB = 1024 * 1024
# Of a line of mountinfo: device and mount point; what follows the dash is kind and source
_NUMBER_FIELD, _POINT_FIELD = 2, 4
# In memory alone: gone with the next start
FLEETING = frozenset({"tmpfs", "ramfs"})
# What JEDEC's field says in tenths of the expected life; 11 is more than all of it
_LIFE_STEP_PERCENT = 10
_LIFE_STEPS = range(1, 12)
# Its field for the blocks that are kept back: 1 is normal
_RESERVE_WORDS = {2: "80 % of the spare blocks are used", 3: "the spare blocks are used up"}


class FileSystem(Struct, frozen=True):
    """One file system.

    Args:
        free_inodes_percent: None where it has no fixed number of them.
        kind: such as `ext4`; empty when it is not known.
    """

    free_mb: int
    total_mb: int
    free_inodes_percent: int | None
    is_read_only: bool
    kind: str = ""


def read_file_system(folder: Path, kernel: Kernel, statvfs: Statvfs) -> FileSystem | None:
    """Return the file system of a folder that may not exist yet; None if unknown."""
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        found = statvfs(existing)
    except (OSError, StopIteration):
        return None
    inodes = found.f_favail * 100 // found.f_files if found.f_files else None
    return FileSystem(
        found.f_bavail * found.f_frsize // _BYTES_PER_MB,
        found.f_blocks * found.f_frsize // _BYTES_PER_MB,
        inodes,
        bool(found.f_flag & os.ST_RDONLY),
        kind_of(existing, kernel.text("proc/self/mountinfo")),
    )


def kind_of(folder: Path, mountinfo: str) -> str:
    """Return the kind of the nearest mount point above; the later of two hides the other."""
    nearest, kind = -1, ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) <= _POINT_FIELD or not rest:
            continue
        point = _point(fields)
        if len(point.parts) >= nearest and folder.is_relative_to(point):
            nearest, kind = len(point.parts), rest[0]
    return kind


def _point(fields: Sequence[str]) -> Path:
    return Path(fields[_POINT_FIELD].replace("\\040", " "))


# sd(4): the number of disks of this kind, and the minors that each has
_DISK_MAJOR, _MINORS_OF_ONE = 8, 16
_DISK = re.compile(r"sd[a-z]+")


def is_own_disk(device: str, folder: Path, kernel: Kernel) -> bool:
    """Return false for a stick in a USB port, also for one that was pulled out.

    Args:
        device: a disk or a partition, such as sda1.
        folder: what lies on a USB disk is its own, and so is the system.
    """
    found = _DISK.match(device)
    if found is None:
        return True
    block = kernel.root / "sys/block" / found[0]
    if not block.exists():
        return False
    if not any(step.startswith("usb") for step in block.resolve().parts):
        return True
    return found[0] in _disks_below(folder, kernel.text("proc/self/mountinfo"))


def _disks_below(folder: Path, mountinfo: str) -> set[str]:
    """Return the disks that are mounted at the folder or above."""
    found = set()
    for line in mountinfo.splitlines():
        fields = line.partition(" - ")[0].split()
        if len(fields) <= _POINT_FIELD or not folder.is_relative_to(_point(fields)):
            continue
        major, _, minor = fields[_NUMBER_FIELD].partition(":")
        if major == str(_DISK_MAJOR) and minor.isdecimal():
            found.add(f"sd{chr(ord('a') + int(minor) // _MINORS_OF_ONE)}")
    return found


class Card(Struct, frozen=True):
    """State of the machine's storage.

    Args:
        used_percent: of its expected life, at most; None where it does not tell.
        reserve: what is wrong with its spare blocks; mostly nothing.
        errors: met by the file systems since they were last checked, by device.
    """

    used_percent: int | None = None
    reserve: str = ""
    errors: tuple[tuple[str, int], ...] = ()

    @property
    def error_count(self) -> int:
        return sum(count for _, count in self.errors)


def card(kernel: Kernel, folder: Path = Path("/")) -> Card:
    """Return the state of the disks that the system and the folder are on."""
    devices = [f"{folder}/device" for folder in kernel.matches("sys/block/mmcblk*")]
    lives = [life for device in devices for life in _lives(kernel.text(f"{device}/life_time"))]
    reserves = (kernel.number(f"{device}/pre_eol_info") for device in devices)
    return Card(
        max(lives, default=None),
        next((_RESERVE_WORDS[one] for one in reserves if one in _RESERVE_WORDS), ""),
        tuple(one for one in _errors(kernel) if is_own_disk(one[0], folder, kernel)),
    )


def _lives(text: str) -> list[int]:
    """Return the wear of both memory types, such as `0x01 0x02`."""
    found: list[int] = []
    for word in text.split():
        try:
            step = int(word, 16)
        except ValueError:
            continue
        if step in _LIFE_STEPS:
            found.append(step * _LIFE_STEP_PERCENT)
    return found


def _errors(kernel: Kernel) -> list[tuple[str, int]]:
    counts = (
        (path.split("/")[-2], kernel.number(path))
        for path in kernel.matches("sys/fs/ext4/*/errors_count")
    )
    return [(device, count) for device, count in counts if count]
