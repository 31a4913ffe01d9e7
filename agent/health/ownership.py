"""Rights and ownership of the agent's folder: what is open or foreign, and its repair.

Looks at ours alone: what a person put into the workspace has its own rules. What is changed is
opened first, by its folder, without following a link: root may do this in somebody else's folder.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# Shared with people and programs on purpose
_SHARED = frozenset({"workspace", "chat.sock", "model"})
# Set aside by a restore: what root alone may read of the machine stays root's in there
SET_ASIDE = "before-restore"
# Far more files than an agent has; a folder of somebody else's is not walked through
_MOST_FILES = 20_000
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Found(NamedTuple):
    """A file or a folder, by the open folder that it is in."""

    path: Path
    folder: int
    status: os.stat_result


def exposed(folder: Path) -> list[Path]:
    """Return what others may read: the folder itself, or files in it if they may enter it."""
    mode = _mode(folder)
    # Nobody comes through a folder that is closed
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    inside = [found.path for found in _ours(folder) if found.status.st_mode & stat.S_IRWXO]
    return [folder, *inside] if mode & stat.S_IRWXO else inside


def foreign(folder: Path) -> list[Path]:
    """Return what does not belong to the folder's owner."""
    return [found.path for found in _foreign(folder)]


def take_from_others(folder: Path, rights: int = stat.S_IRWXO, passing: int = 0) -> int:
    """Close exposed files; return how many were closed.

    Args:
        rights: what nobody else may have.
        passing: of these, what stays for the folder itself.
    """

    def close(handle: int) -> None:
        os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) & ~rights)

    closed = 0
    for found in _ours(folder):
        if found.status.st_mode & rights:
            closed += _changed(found, close)
    if (mode := _mode(folder)) & (too_much := rights & ~passing):
        with contextlib.suppress(OSError):
            folder.chmod(stat.S_IMODE(mode) & ~too_much)
            closed += 1
    return closed


def keep_private(folder: Path) -> int:
    """Remove all rights of group and others; return how many files changed.

    The group may still pass through the folder itself: a proxy comes to the gateway's socket so.
    """
    return take_from_others(folder, stat.S_IRWXG | stat.S_IRWXO, passing=stat.S_IXGRP)


def give_back(folder: Path) -> int:
    """Make the folder's owner the owner of its files; return how many changed."""
    owner = folder.stat()
    return sum(
        _changed(found, lambda handle: os.fchown(handle, owner.st_uid, owner.st_gid))
        for found in _foreign(folder)
    )


def _changed(found: _Found, change: Callable[[int], None]) -> bool:
    try:
        handle = os.open(found.path.name, _OPEN_FLAGS, dir_fd=found.folder)
    except OSError:
        return False
    try:
        status = os.fstat(handle)
        # A second name may be one outside: that file is not ours
        if stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1):
            change(handle)
            return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _foreign(folder: Path) -> Iterator[_Found]:
    try:
        owner = folder.stat().st_uid
    except OSError:
        return
    yield from (found for found in _ours(folder) if found.status.st_uid != owner)


def _ours(folder: Path) -> Iterator[_Found]:
    """Links apart: they have no rights, and what they lead to is not ours."""
    count = 0
    for place, folders, files, handle in os.fwalk(folder):
        is_top = Path(place) == folder
        if is_top:
            folders[:] = [
                name for name in folders if name not in _SHARED and not name.startswith(SET_ASIDE)
            ]
        for name in (*folders, *files):
            if is_top and name in _SHARED:
                continue
            count += 1
            if count > _MOST_FILES:
                return
            try:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISLNK(status.st_mode):
                yield _Found(Path(place) / name, handle, status)


def _mode(folder: Path) -> int:
    try:
        return folder.stat().st_mode
    except OSError:
        return 0
