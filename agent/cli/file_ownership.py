"""Files that are written with the administrator's rights, and read by the agent without them."""

import contextlib
import os
from pathlib import Path


def hand_over(folder: Path, names: tuple[str, ...]) -> None:
    """Give the files in the folder to whoever the folder belongs to, where we may."""
    if os.geteuid() != 0:
        return
    whose = folder.stat()
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            os.chown(folder / name, whose.st_uid, whose.st_gid, follow_symlinks=False)
