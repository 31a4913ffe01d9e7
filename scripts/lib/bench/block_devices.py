"""Block devices of a benchmark's own: loop devices over files, alone or with ext4 on them.

Nobody else writes to them, so their counters say what a program has written, and their power can be
cut. They need root.
"""

import ctypes
import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Blocks of 4 KB, as on any card: a smaller file system would be made with less
_MKFS = ("mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0")
_MIB = 1 << 20
_FILE_SYSTEM_MIB = 256
# Among the counters of a block device
_SECTORS_WRITTEN, _SECTOR_BYTES = 6, 512
# EXT4_IOC_SHUTDOWN of the kernel's include/uapi/linux/fs.h, without writing its journal out
_SHUT_DOWN, _NO_JOURNAL = 0x8004587D, 2
_LET_GO_S, _LOOK_S = 60.0, 0.1
# CLONE_NEWNS of include/uapi/linux/sched.h
_NEW_MOUNTS = 0x20000


def missing() -> str:
    """Return why there can be none; empty where there can."""
    if os.geteuid():
        return "needs root"
    return "" if Path("/dev/loop-control").exists() else "no loop devices here"


def keep_mounts_apart() -> None:
    """Give this process mounts of its own, before it has threads.

    A sandbox that another program starts would take a disk along, and hold it after its power cut.

    Raises:
        OSError: it may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "this process gets no mounts of its own")
    _said("mount", "--make-rprivate", "/")


@contextmanager
def plain_device(folder: Path, size_mib: int) -> Iterator[Path]:
    """Yield a device without a file system."""
    folder.mkdir(parents=True, exist_ok=True)
    content = folder / f"device-{size_mib}"
    with content.open("wb") as file:
        file.truncate(size_mib * _MIB)
    device = Path(_said("losetup", "--find", "--show", str(content)))
    try:
        yield device
    finally:
        _said("losetup", "--detach", str(device))
        content.unlink()


class LoopDisk:
    """ext4 whose power can be cut: it forgets what was not written yet, and takes nothing more."""

    def __init__(self, device: Path, root: Path, options: str) -> None:
        self.root = root
        self._mount = ("mount", "-t", "ext4", "-o", options, str(device), str(root))
        _said(*self._mount)

    def cut(self) -> None:
        """Cut the power; whoever has files open there is to be killed."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUT_DOWN, struct.pack("I", _NO_JOURNAL))
        finally:
            os.close(folder)

    def come_back(self) -> None:
        """Mount it again, which plays its journal."""
        self.leave()
        _said(*self._mount)

    def leave(self) -> None:
        """Unmount it, as soon as those who were killed have let go of it."""
        deadline_s = time.monotonic() + _LET_GO_S
        while True:
            try:
                _said("umount", str(self.root))
            except subprocess.CalledProcessError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_LOOK_S)
            else:
                return


@contextmanager
def cut_disk(folder: Path, options: str = "noatime") -> Iterator[LoopDisk]:
    """Yield an ext4 of its own."""
    with plain_device(folder, _FILE_SYSTEM_MIB) as device:
        _said(*_MKFS, str(device))
        root = folder / "mounted"
        root.mkdir()
        disk = LoopDisk(device, root, options)
        try:
            yield disk
        finally:
            disk.leave()
            root.rmdir()


@contextmanager
def file_system(folder: Path, options: str = "noatime") -> Iterator[Path]:
    """Yield the root of an ext4 of its own."""
    with cut_disk(folder, options) as disk:
        yield disk.root


def written_bytes(path: Path) -> int:
    """Return what a device, or the device that a file is on, has written, by whomever."""
    os.sync()
    told = path.stat()
    device = told.st_rdev or told.st_dev
    counters = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    return int(counters.read_text().split()[_SECTORS_WRITTEN]) * _SECTOR_BYTES


def _said(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()
