"""The partition that the Pi starts from: read-only but for the moment in which we write.

A power cut while it is writable is the one that can hurt a file system without a journal.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.errors import StorageFull
from agent.system.programs import run_program

FOLDER = Path("/boot/firmware")
# A slow card writes out what is left of megabytes
_MOUNT_TIMEOUT_S = 60.0
_MOUNTS = Path("/proc/self/mountinfo")


# Not a Struct: a start with nothing new does not load msgspec
@dataclass(frozen=True, slots=True)
class Firmware:
    """Its folder.

    Args:
        is_mounted: it is a file system of its own, mounted read-only.
    """

    folder: Path
    is_mounted: bool = True

    @contextmanager
    def writable(self) -> Iterator[None]:
        """For the length of a block.

        Raises:
            StorageFull: it cannot be written.
        """
        if not self.is_mounted:
            yield
            return
        # An update that writes there is not to find it read-only in the middle
        is_anothers = _is_writable(self.folder, _MOUNTS.read_text())
        self._remount("rw")
        try:
            yield
        finally:
            if not is_anothers:
                self._remount("ro")

    def write(self, name: str, text: str) -> None:
        """Have a text file there that any PC shows right; nothing happens where it is there.

        Raises:
            StorageFull: it cannot be written.
        """
        content = text.replace("\n", "\r\n").encode()
        if self._content(name) == content:
            return
        # Not renamed into place: a cut could leave two names for the same blocks
        with self.writable(), (self.folder / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def remove(self, name: str) -> None:
        """Have no file of that name there."""
        if self._content(name) is None:
            return
        with self.writable():
            (self.folder / name).unlink()

    def _content(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def _remount(self, how: str) -> None:
        try:
            words = ["mount", "-o", f"remount,{how}", str(self.folder)]
            run_program(words, _MOUNT_TIMEOUT_S).check_returncode()
        except (OSError, subprocess.SubprocessError) as err:
            raise StorageFull(f"cannot remount {self.folder}: {err}") from err


def _is_writable(folder: Path, mounts: str) -> bool:
    """Return true if the file system is writable, however this program's mount is."""
    for line in mounts.splitlines():
        here, _, there = line.partition(" - ")
        if here.split()[4:5] == [str(folder)]:
            return there.split()[-1].split(",")[0] == "rw"
    return False
