"""Free space and kind of a folder's file system."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.machine.kernel import Kernel

Statvfs = Callable[[Path], os.statvfs_result]

_BYTES_PER_MB = 1024 * 1024
# Of a line of mountinfo: the mount point; what follows the dash is kind and source
_POINT_FIELD = 4
# In memory alone: gone with the next start
FLEETING = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class FileSystem:
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
        point = Path(fields[_POINT_FIELD].replace("\\040", " "))
        if len(point.parts) >= nearest and folder.is_relative_to(point):
            nearest, kind = len(point.parts), rest[0]
    return kind
