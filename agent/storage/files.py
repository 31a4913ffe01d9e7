"""Atomic file writes: a power cut leaves the old or the new version.

Temp file in the same folder, fsync, rename, fsync of the folder; mode 0600 before the content. Each
write has a temp file of its own, which it locks: two writers never meet in one, and what is not
locked was left by one that was killed.
"""

import contextlib
import errno
import fcntl
import os
import re
from collections.abc import Iterable
from pathlib import Path

from agent.errors import StorageFull

# What the agent keeps is its owner's alone, wherever it lies
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_TEMP_SUFFIX = ".part"
# What stands before it, but in a name of an earlier version
_MARK_BYTES = 4
_MARK = r"(\.[0-9a-f]{8})?"
# What the operating system says when there is no room, no permission to write any more, or a card
# that takes no more; SQLite's errors of the same kinds are told as StorageFull too
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def write_atomic(path: Path, content: bytes) -> None:
    """Replace the file's content.

    Raises:
        StorageFull: nothing was changed; the old content is still there.
    """
    try:
        _replace(path, content, is_synced=True)
        sync_folder(path.parent)
    except OSError as err:
        if err.errno in _NO_ROOM:
            raise StorageFull(f"{path} was not written: {os.strerror(err.errno)}") from err
        raise


def replace_unsynced(path: Path, content: bytes) -> None:
    """Replace the file's content whole, but let a power cut bring the old one back.

    For what may be lost: nothing is flushed, so that it costs no write at once.
    """
    _replace(path, content, is_synced=False)


def remove_stale_temps(folder: Path) -> int:
    """Remove leftovers of interrupted writes; return how many."""
    return _remove_left_over(folder.glob(f"*{_TEMP_SUFFIX}"))


def is_read_only(place: Path | int) -> bool:
    """Return true if a file, a folder or a handle is on a file system that has turned read-only.

    The kernel still takes what is written to a file that was open before, says that it is flushed,
    and loses it: whoever keeps a file open has to ask. What is not there is not read-only.
    """
    try:
        return bool(os.statvfs(place).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def begin_beside(path: Path) -> tuple[Path, int]:
    """Return a new file beside one, for a content that comes in pieces, and its handle.

    It is locked until that is closed. What was left of earlier ones is removed.
    """
    _remove_left_over_of(path)
    return _temp_of(path)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(path: Path, content: bytes, *, is_synced: bool) -> None:
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    temp, handle = begin_beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
            # While it is locked: nobody takes it for a leftover
            temp.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise


def _temp_of(path: Path) -> tuple[Path, int]:
    """Return a new locked file beside one, and its handle."""
    while True:
        mark = os.urandom(_MARK_BYTES).hex()
        temp = path.with_name(f"{path.name}.{mark}{_TEMP_SUFFIX}")
        handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        # A file system may know no locks
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temp.exists():
            return temp, handle
        # Taken for a leftover before it was locked
        os.close(handle)


def _remove_left_over_of(path: Path) -> None:
    own = re.compile(f"{re.escape(path.name)}{_MARK}{re.escape(_TEMP_SUFFIX)}")
    # Without them the write goes on
    with contextlib.suppress(OSError):
        _remove_left_over(one for one in path.parent.iterdir() if own.fullmatch(one.name))


def _remove_left_over(paths: Iterable[Path]) -> int:
    """Remove those that nobody writes; return how many."""
    removed = 0
    for path in list(paths):
        # What is another user's, or no file, stays
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                removed += 1
            finally:
                os.close(handle)
    return removed
