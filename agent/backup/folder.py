"""Folder of backups of one or several devices: of each device the newest are kept."""

import re
from pathlib import Path

from agent.backup.manifest import SUFFIX

_NAME = re.compile(rf"(.+)-[0-9]{{8}}T[0-9]{{6}}Z{re.escape(SUFFIX)}\Z")


def remove_old(folder: Path, device: str, keep: int, made: Path) -> list[Path]:
    """Remove all but the newest backups of a device; return those that went.

    Args:
        made: the newest; what is dated later is older, and of a clock that was ahead.
    """
    mine = [
        path
        for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda one: (one <= made, one))
        if (name := _NAME.match(path.name)) and name[1] == device and path.is_file()
    ]
    old = mine[: max(len(mine) - keep, 0)]
    for path in old:
        path.unlink()
    return old
