"""The partition that the Pi starts from: read-only but for the moment in which we write.

A power cut while it is writable is the one that can hurt a file system without a journal.
"""

import contextlib
import errno
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
# Room for what a start has to say on a full partition
RESERVE = "barnacle-reserve.txt"
RESERVE_BYTES = 32 * 1024
_RESERVE_SAYS = "Barnacle keeps this room for its messages on a full card."


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
        with self.writable():
            try:
                self._write(name, content)
            except OSError as err:
                if err.errno != errno.ENOSPC or not (self.folder / RESERVE).exists():
                    raise
                (self.folder / RESERVE).unlink()
                self._write(name, content)

    def keep_room(self) -> None:
        """Have the reserve there, if there is room for it; where not, the next start tries."""
        if (self.folder / RESERVE).exists():
            return
        with contextlib.suppress(OSError, StorageFull):
            told = os.statvfs(self.folder)
            if told.f_bavail * told.f_frsize >= RESERVE_BYTES:
                with self.writable():
                    self._write(RESERVE, reserve_content())

    def remove(self, name: str) -> None:
        """Have no file of that name there."""
        if self._content(name) is None:
            return
        with self.writable():
            (self.folder / name).unlink()

    def _write(self, name: str, content: bytes) -> None:
        """Write a file; one that finds no room is not left half written."""
        path = self.folder / name
        try:
            # Not renamed into place: a cut could leave two names for the same blocks
            with path.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as err:
            if err.errno == errno.ENOSPC:
                path.unlink()
            raise

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


def reserve_content() -> bytes:
    return _RESERVE_SAYS.ljust(RESERVE_BYTES - 2).encode() + b"\r\n"


def _is_writable(folder: Path, mounts: str) -> bool:
    """Return true if the file system is writable, however this program's mount is."""
    for line in mounts.splitlines():
        here, _, there = line.partition(" - ")
        if here.split()[4:5] == [str(folder)]:
            return there.split()[-1].split(",")[0] == "rw"
    return False
