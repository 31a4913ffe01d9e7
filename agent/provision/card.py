"""`barnacle.toml` as it lies on the card: read as any PC writes it, and wiped where it lies.

A file system of a card has no owners and no journal: what is overwritten in place is gone.
"""

import errno
import os
from pathlib import Path

from agent.errors import ConfigRefused
from agent.storage.files import sync_folder

NAME = "barnacle.toml"
# As of every configuration; said again because reading those takes longer than most starts need
MAX_BYTES = 64 * 1024
# In the order in which they count; the last one has nothing in it for us
IMAGER_FILES = (
    "firstrun.sh",
    "custom.toml",
    "rpi-preseed.toml",
    "user-data",
    "network-config",
    "meta-data",
)
_STAR = ord("*")
_BOM = "\ufeff"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
TAKEN_OVER = (
    "# Barnacle has stored the secrets of this file safely and replaced them "
    "with stars here.\n"
    "# To change one, write the new value over its stars; leave the others as "
    "they are.\n"
)


def read(path: Path) -> bytes:
    """The file's bytes; none where there is no file.

    Raises:
        ConfigRefused: it cannot be a configuration.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as err:
        raise ConfigRefused(f"{path.name}: cannot read it: {err.strerror}") from err
    if len(content) > MAX_BYTES:
        raise ConfigRefused(f"{path.name}: is longer than {MAX_BYTES} bytes")
    return content


def left_by_imager(folder: Path) -> tuple[Path, ...]:
    """Files that Raspberry Pi Imager left there."""
    return tuple(folder / name for name in IMAGER_FILES if (folder / name).is_file())


def decoded(content: bytes, name: str) -> str:
    """The text, without the mark that Windows puts before it.

    Raises:
        ConfigRefused: it is not UTF-8.
    """
    if content.startswith(_UTF_16):
        raise ConfigRefused(
            f"{name}: saved as UTF-16, which some editors call Unicode; save it again "
            'with the encoding "UTF-8"'
        )
    try:
        return content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as err:
        line = content.count(b"\n", 0, err.start) + 1
        raise ConfigRefused(
            f'{name}: line {line}: not UTF-8; save the file again with the encoding "UTF-8"'
        ) from err


def without_secrets(content: bytes, wiped: str) -> bytes:
    """Return the bytes to write over the file; `wiped` is its text with stars in it."""
    mark = _BOM if content.startswith(_BOM.encode()) else ""
    return f"{mark}{_noted(wiped)}".encode()


def is_half_wiped(content: bytes, clean: bytes) -> bool:
    """Return true if a cut came while `clean` was written; a person's edit does not count."""
    pairs = zip(content, clean[: len(content)], strict=False)
    is_shorter = len(content) <= len(clean)
    return is_shorter and all(new in {old, _STAR} for old, new in pairs)


def erase(path: Path) -> None:
    """Take a file away whose content is nobody's any more."""
    in_place(path, bytes(path.stat().st_size))
    path.unlink()
    sync_folder(path.parent)


def in_place(path: Path, content: bytes, needed: int | None = None) -> None:
    """Write over the file from its beginning, without giving any of its blocks away.

    So nothing of a secret is left anywhere; a rename could leave two names for the same blocks.

    Args:
        needed: of so many bytes a full card keeps no more; otherwise all are needed.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        written = 0
        while written < len(content):
            try:
                written += os.pwrite(handle, content[written:], written)
            except OSError as err:
                if needed is None or written < needed or err.errno != errno.ENOSPC:
                    raise
                os.ftruncate(handle, needed)
                break
        os.fsync(handle)
    finally:
        os.close(handle)


def _noted(text: str) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    note = TAKEN_OVER.replace("\n", line_end)
    between = line_end if text.endswith("\n") else line_end * 2
    return text if note in text else f"{text}{between}{note}{line_end}"
