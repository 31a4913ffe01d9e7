"""Atomic file writes: a power cut leaves the old or the new version.

Temp file in the same folder, fsync, rename, fsync of the folder; mode 0600 before the content.
"""

import contextlib
import errno
import os
from pathlib import Path

from agent.errors import StorageFull

# What the agent keeps is its owner's alone, wherever it lies
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_TEMP_SUFFIX = ".part"
# What the operating system says when there is no room, no permission to write any more, or a card
# that takes no more; SQLite's errors of the same kinds are told as StorageFull too
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def write_atomic(path: Path, content: bytes) -> None:
    """Replace the file's content.

    Raises:
        StorageFull: nothing was changed; the old content is still there.
    """
    temp = path.with_name(f"{path.name}{_TEMP_SUFFIX}")
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        _write_synced(temp, content)
        temp.replace(path)
        sync_folder(path.parent)
    except OSError as err:
        with contextlib.suppress(OSError):
            temp.unlink()
        if err.errno in _NO_ROOM:
            raise StorageFull(f"{path} was not written: {os.strerror(err.errno)}") from err
        raise


def replace_unsynced(path: Path, content: bytes) -> None:
    """Replace the file's content whole, but let a power cut bring the old one back.

    For what may be lost: nothing is flushed, so that it costs no write at once.
    """
    temp = path.with_name(f"{path.name}{_TEMP_SUFFIX}")
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    temp.write_bytes(content)
    temp.replace(path)


def remove_stale_temps(folder: Path) -> int:
    """Remove leftovers of interrupted writes; return how many."""
    stale = list(folder.glob(f"*{_TEMP_SUFFIX}"))
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def is_read_only(place: Path | int) -> bool:
    """Return true if a file, a folder or a handle is on a file system that has turned read-only.

    The kernel still takes what is written to a file that was open before, says that it is flushed,
    and loses it: whoever keeps a file open has to ask. What is not there is not read-only.
    """
    try:
        return bool(os.statvfs(place).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_synced(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
