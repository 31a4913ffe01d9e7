"""Folder of backups of one or several devices: of each device the newest are kept."""

import contextlib
import re
from pathlib import Path

from agent.backup.manifest import SUFFIX
from agent.backup.record import LastBackup
from agent.errors import BackupRefused

_NAME = re.compile(rf"(.+)-[0-9]{{8}}T[0-9]{{6}}Z{re.escape(SUFFIX)}\Z")

# Of a backup that is being written
PARTIAL = ".part"
# A backup takes four hours at most; what nobody has written to for longer was cut off
_CUT_OFF_S = 86_400.0


def is_apart(folder: Path, state_dir: Path) -> bool:
    """Return true if a folder is on another disk than those of the state and the system."""
    return folder.stat().st_dev not in {state_dir.stat().st_dev, Path("/").stat().st_dev}


def check_disk(folder: Path, state_dir: Path, last: LastBackup | None) -> None:
    """Refuse the mount point of a disk that is gone: a backup there would die with the card.

    Raises:
        BackupRefused: the last backup went onto a disk there, and none is mounted now.
    """
    if last is None or not last.is_apart or Path(last.where).parent != folder:
        return
    if folder.is_dir() and not is_apart(folder, state_dir):
        raise BackupRefused(
            f"no disk is mounted at {folder} any more, where the last backup was written onto one: "
            "connect and mount it, or name another folder"
        )


def remove_cut_off(folder: Path, device: str, now_s: float) -> None:
    """Remove what is left of a device's backups that a power cut or a pulled disk has ended."""
    for path in folder.glob(f"*{SUFFIX}{PARTIAL}"):
        name = _NAME.match(path.name.removesuffix(PARTIAL))
        if name is None or name[1] != device:
            continue
        # Another machine that shares the folder may be quicker
        with contextlib.suppress(OSError):
            if now_s - path.stat().st_mtime > _CUT_OFF_S:
                path.unlink()


def remove_old(
    folder: Path, device: str, keep: int, made: Path, whole: Path | None = None
) -> list[Path]:
    """Remove all but the newest backups of a device; return those that went.

    Args:
        made: the newest; what is dated later is older, and of a clock that was ahead.
        whole: the last one without damage, which stays: the newer ones hold damaged databases.
    """
    mine = [
        path
        for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda one: (one <= made, one))
        if (name := _NAME.match(path.name)) and name[1] == device and path.is_file()
    ]
    old = [path for path in mine[: max(len(mine) - keep, 0)] if path != whole]
    for path in old:
        path.unlink()
    return old
