"""Disk limits of a program: room while it runs, and no file with a second name elsewhere.

A limit on each file does not limit their number, so the free room is watched all the time. A hard
link may lead anywhere, so a file of the workspace must have only one name.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from agent.errors import SandboxBroken

# Of all that one run writes; a report or a picture takes a fraction of it
MAX_WRITTEN_BYTES = 64 * 1024 * 1024
# Kept for the agent itself: its databases, its log and an update's settings
MIN_FREE_BYTES = 128 * 1024 * 1024
# A card writes some megabytes in it, a fast disk a hundred
LOOK_S = 0.1
# Of the workspace: a few seconds of a slow card
MAX_ENTRIES = 100_000
_MEGABYTE = 1024 * 1024


class DiskGuard(Struct):
    """Guard of the disk under a folder while a program runs.

    Args:
        folder: where it writes; None where it writes nothing.
        end: ends the program.
        is_counted: whatever the disk loses counts as the program's: for those that run so briefly
            that hardly anybody else writes meanwhile.
        overrun: why it was ended, in words; empty where it was not.
    """

    folder: Path | None
    end: Callable[[], None]
    is_counted: bool = True
    overrun: str = ""
    free_at_start: int = 0

    def begin(self) -> None:
        """Raise SandboxBroken if there is not enough room to begin."""
        if self.folder is None:
            return
        self.free_at_start = free_bytes(self.folder)
        if self.free_at_start < MIN_FREE_BYTES:
            left = self.free_at_start // _MEGABYTE
            least = MIN_FREE_BYTES // _MEGABYTE
            raise SandboxBroken(
                f"the disk has {left} MB left, and a program that writes needs {least} MB: "
                "remove files from the workspace"
            )

    async def watch(self) -> None:
        """Watch until cancelled; end the program if it has taken too much."""
        while self.folder is not None and not self.overrun:
            await asyncio.sleep(LOOK_S)
            self.look(free_bytes(self.folder))

    def look(self, free: int) -> None:
        if self.is_counted and self.free_at_start - free > MAX_WRITTEN_BYTES:
            most = MAX_WRITTEN_BYTES // _MEGABYTE
            self.overrun = f"it wrote more than {most} MB; what it wrote is still there"
        elif free < MIN_FREE_BYTES:
            least = MIN_FREE_BYTES // _MEGABYTE
            self.overrun = (
                f"less than {least} MB of the disk were left; what it wrote is still there"
            )
        if self.overrun:
            self.end()


def free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def refuse_foreign_names(root: Path) -> None:
    """Check the workspace for hard links before a program runs.

    Raises:
        SandboxBroken: a file of it has a further name outside, or there is too much to look at.
    """
    names: dict[tuple[int, int], int] = {}
    shown: dict[tuple[int, int], tuple[int, str]] = {}
    for path, status in _files(root):
        if status.st_nlink > 1:
            key = (status.st_dev, status.st_ino)
            names[key] = names.get(key, 0) + 1
            shown[key] = (status.st_nlink, os.path.relpath(path, root))
    for key, count in names.items():
        links, path = shown[key]
        if count < links:
            raise SandboxBroken(
                f"{path!r} is a hard link to a file outside the workspace, so no program runs "
                "here: replace it with a copy"
            )


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    waiting, left = [str(root)], MAX_ENTRIES
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        raise SandboxBroken(f"the workspace has more than {MAX_ENTRIES} files")
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
                    elif stat.S_ISREG(status.st_mode):
                        yield entry.path, status
        except OSError:
            # Gone meanwhile, or closed to us and so to the program, which runs as we do
            continue
