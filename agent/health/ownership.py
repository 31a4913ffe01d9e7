"""What beneath the agent's own folder is open to others, or belongs to them.

Looks at ours alone: what a person put into the workspace has its own rules.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

# Shared with people and programs on purpose
_SHARED = frozenset({"workspace", "chat.sock", "model"})
# Far more files than an agent has; a folder of somebody else's is not walked through
_MOST_FILES = 20_000


def exposed(folder: Path) -> list[Path]:
    """What others may read: the folder itself, or, where they may enter it, files in it."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return []
    # Nobody comes through a folder that is closed
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    inside = (path for path, found in _ours(folder) if found.st_mode & stat.S_IRWXO)
    return [folder, *inside] if mode & stat.S_IRWXO else list(inside)


def foreign(folder: Path) -> list[Path]:
    """What does not belong to whom the folder belongs."""
    try:
        owner = folder.stat().st_uid
    except OSError:
        return []
    return [path for path, found in _ours(folder) if found.st_uid != owner]


def _ours(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    count = 0
    for place, folders, files in os.walk(folder):
        if Path(place) == folder:
            folders[:] = [name for name in folders if name not in _SHARED]
        for name in (*folders, *files):
            if Path(place) == folder and name in _SHARED:
                continue
            count += 1
            if count > _MOST_FILES:
                return
            path = Path(place) / name
            try:
                found = path.lstat()
            except OSError:
                continue
            if not stat.S_ISLNK(found.st_mode):
                yield path, found
