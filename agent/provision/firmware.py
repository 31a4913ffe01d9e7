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

FOLDER = Path("/boot/firmware")
# A slow card writes out what is left of megabytes
_MOUNT_TIMEOUT_S = 60.0


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
        self._remount("rw")
        try:
            yield
        finally:
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
        if not self.is_mounted:
            return
        try:
            subprocess.run(  # noqa: S603 - a program of the system, words of ours
                ["mount", "-o", f"remount,{how}", self.folder],  # noqa: S607 - of the system's PATH
                check=True,
                capture_output=True,
                timeout=_MOUNT_TIMEOUT_S,
            )
        except (OSError, subprocess.SubprocessError) as err:
            raise StorageFull(f"{self.folder} cannot be remounted: {err}") from err
