"""Files of the Pi's boot loader: config.txt names the slot, tryboot.txt another one for once.

One letter of config.txt decides, and it is written in its place: one sector, which a power cut
leaves old or new. A rename would rewrite the folder, and a cut in it leaves two names for one file.
"""

import contextlib
import errno
import fcntl
import logging
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from agent.errors import UpdateRefused
from agent.storage.files import sync_folder
from agent.system.crash_points import crash_point
from agent.system.programs import run_program
from agent.update.bundle import COMMAND_LINE

_log = logging.getLogger(__name__)

# People add lines for their displays and overlays, no more
_MAX_CONFIG_BYTES = 64 * 1024
_PREFIX = re.compile(rb"^os_prefix=([AB])/[ \t]*\r?$", re.MULTILINE)
# A word of the kernel's command line for the initial RAM disk
_NOTE = b"barnacle.switch="
_NOTED = re.compile(rb" barnacle\.switch=[0-9]+")
# linux/fs.h: which block of the partition a block of a file is, and how long one is
_FIBMAP, _FIGETBSZ = 1, 2
# Checking a FAT of 256 MB takes a second on a Pi
_PROGRAM_TIMEOUT_S = 120.0


def configured(firmware: Path) -> str:
    """Return the slot of every ordinary start.

    Raises:
        UpdateRefused: config.txt does not say.
    """
    return _place(_config(firmware))[1]


def select(firmware: Path, slot: str) -> None:
    """Make this slot the one of every ordinary start."""
    at, named = _place(_config(firmware))
    if named == slot:
        return
    crash_point("update.selecting")
    handle = os.open(firmware / "config.txt", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(handle, slot.encode(), at)
        os.fsync(handle)
    finally:
        os.close(handle)
    crash_point("update.selected")


def offer(firmware: Path, slot: str) -> None:
    """Offer this slot for one trial start."""
    content = _config(firmware)
    at, _ = _place(content)
    withdraw(firmware)
    write_file(firmware / "tryboot.txt", content[:at] + slot.encode() + content[at + 1 :])
    sync_folder(firmware)


def withdraw(firmware: Path) -> None:
    """Withdraw the offer of a trial start."""
    (firmware / "tryboot.txt").unlink(missing_ok=True)
    sync_folder(firmware)


def note_letter(firmware: Path, slot: str) -> None:
    """Tell the slot's initial RAM disk where on the partition the letter of config.txt is.

    It names the slot before again before anything of the new system is started.
    """
    path = firmware / slot / COMMAND_LINE
    at, _ = _place(_config(firmware))
    try:
        place = _place_on_partition(firmware / "config.txt", at)
    except OSError as err:
        _log.warning("update: cannot name the previous version, the new one has to (error=%s)", err)
        return
    # A trial may be asked for again
    line = _NOTED.sub(b"", path.read_bytes()).rstrip()
    write_file(path, line + f" {_NOTE.decode()}{place}\n".encode())


def forget_letter(firmware: Path, slot: str) -> None:
    """No start of the slot gives way any more by itself; written in its place, like the letter."""
    path = firmware / slot / COMMAND_LINE
    notes = list(_NOTED.finditer(path.read_bytes()))
    if not notes:
        return
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        for note in notes:
            os.pwrite(handle, b" " * len(note[0]), note.start())
        os.fsync(handle)
    finally:
        os.close(handle)


def is_noted(firmware: Path, slot: str) -> bool:
    return _NOTED.search((firmware / slot / COMMAND_LINE).read_bytes()) is not None


def write_file(path: Path, content: bytes) -> None:
    """A new file, on the card when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def writable(firmware: Path, *, checked: bool = False) -> Iterator[None]:
    """The firmware partition, which is read-only otherwise, taken for writing.

    Args:
        checked: whatever a cut has left on it is put right before.

    Raises:
        UpdateRefused: it cannot be written.
    """
    if not firmware.is_mount():
        yield
        return
    if checked:
        _put_right(firmware)
    if not _succeeds("mount", "-o", "remount,rw", str(firmware)):
        raise UpdateRefused(f"cannot write {firmware}: is the card locked, or worn out?")
    try:
        yield
    finally:
        os.sync()
        _succeeds("mount", "-o", "remount,ro", str(firmware))


def bring(firmware: Path) -> None:
    """Mount the firmware partition if a slow start has left it out."""
    if not (firmware / "config.txt").exists():
        _succeeds("mount", str(firmware))


def _put_right(firmware: Path) -> None:
    """Repair what a cut left of an earlier write, before the kernel gives it up in the next."""
    device = _output("findmnt", "--noheadings", "--output", "SOURCE", str(firmware))
    if _succeeds("umount", str(firmware)):
        _succeeds("fsck.vfat", "-a", device)
        _succeeds("mount", str(firmware))


def _place_on_partition(path: Path, at: int) -> int:
    """Return the position of a byte of a file, from the beginning of its file system."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = fcntl.ioctl(handle, _FIGETBSZ, struct.pack("i", 0))
        (block_bytes,) = struct.unpack("i", told)
        told = fcntl.ioctl(handle, _FIBMAP, struct.pack("i", at // block_bytes))
        (block,) = struct.unpack("i", told)
    finally:
        os.close(handle)
    if block <= 0:
        raise OSError(errno.ENXIO, f"cannot find the device of {path}")
    return int(block * block_bytes + at % block_bytes)


def _config(firmware: Path) -> bytes:
    try:
        with (firmware / "config.txt").open("rb") as file:
            return file.read(_MAX_CONFIG_BYTES)
    except OSError as err:
        raise UpdateRefused(f"cannot read {firmware}/config.txt: {err.strerror}") from err


def _place(content: bytes) -> tuple[int, str]:
    """Return the position of the slot's letter, and the letter."""
    found = list(_PREFIX.finditer(content))
    if len(found) != 1:
        raise UpdateRefused(
            "config.txt on the firmware partition needs exactly one line "
            "os_prefix=A/ or os_prefix=B/: put it back"
        )
    return found[0].start(1), found[0][1].decode()


def _succeeds(*command: str) -> bool:
    return run_program(command, _PROGRAM_TIMEOUT_S).returncode == 0


def _output(*command: str) -> str:
    return run_program(command, _PROGRAM_TIMEOUT_S).stdout.decode("utf-8", "replace").strip()
