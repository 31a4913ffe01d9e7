"""Files beneath a folder, reached component by component: no path from outside leads out of it.

No link is followed, wherever in the path and whenever it appears; only plain files with one name
are opened. Writing makes a new file and renames it inside the same open folder.
"""

import contextlib
import errno
import itertools
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent.errors import PathRefused, StorageFull

# What file systems take for one name
MAX_PART_BYTES = 255
# Deep enough for any work, and far below what the system takes for a whole path
MAX_PARTS = 16
# Of a refused path: enough to recognise it
_SHOWN_CHARS = 100
# The folder itself
HERE = "."

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe in the place of a file would hold the reader for ever
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
# Cc control, Cf direction and zero width, Cs lone surrogates, Zl and Zp line ends
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder that could be opened."""

    name: str
    is_folder: bool
    size_bytes: int


def parts_of(relative: str) -> tuple[str, ...]:
    """The components of a path, each of which is a plain name.

    Raises:
        PathRefused: with what is wrong, in words.
    """
    parts = tuple(relative.split("/"))
    if len(parts) > MAX_PARTS:
        raise PathRefused(f"the path has more than {MAX_PARTS} parts")
    for part in parts:
        if complaint := _complaint(part):
            raise PathRefused(f"{_shown(relative)} is refused: {complaint}")
    return parts


def open_beneath(root: Path, relative: str) -> BinaryIO:
    """A plain file beneath `root`, open for reading.

    Raises:
        PathRefused: there is no such file, or it may not be reached.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders) as folder:
        handle = os.open(name, _READ, dir_fd=folder)
        try:
            _refuse_unless_plain(os.fstat(handle), relative)
            return os.fdopen(handle, "rb")
        except PathRefused:
            os.close(handle)
            raise


def write_beneath(root: Path, relative: str, content: bytes) -> None:
    """Make or replace a plain file beneath `root`, whole or not at all; folders are made.

    Raises:
        PathRefused: it may not be reached.
        StorageFull: no room; nothing was changed.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders, make=True) as folder:
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _refuse_unless_plain(status, relative)
        temp = f".{secrets.token_hex(8)}.part"
        try:
            _write_synced(temp, folder, content)
            os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temp, dir_fd=folder)
            raise
        os.fsync(folder)


def remove_beneath(root: Path, relative: str) -> None:
    """Remove a plain file beneath `root`; one that is gone already is no fault.

    Raises:
        PathRefused: it may not be reached.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders) as folder, contextlib.suppress(FileNotFoundError):
        _refuse_unless_plain(os.stat(name, dir_fd=folder, follow_symlinks=False), relative)
        os.unlink(name, dir_fd=folder)


def list_beneath(root: Path, relative: str, limit: int) -> list[Entry]:
    """Files and folders in a folder beneath `root`, by name; at most `limit` are looked at.

    Raises:
        PathRefused: there is no such folder, or it may not be reached.
    """
    folders = () if relative == HERE else parts_of(relative)
    with _told(relative), _folder(root, folders) as folder, os.scandir(folder) as found:
        entries = [_entry(item) for item in itertools.islice(found, limit)]
    return sorted((entry for entry in entries if entry), key=lambda entry: entry.name)


def _complaint(part: str) -> str:
    if not part:
        return "it is absolute or has an empty part"
    if any(unicodedata.category(char) in _HIDDEN or char == "\\" for char in part):
        return "it has a backslash or characters that cannot be seen"
    if part[-1] in ". ":
        return "a part of it ends in a dot or a space"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"a part of it is longer than {MAX_PART_BYTES} bytes"
    return ""


@contextlib.contextmanager
def _folder(root: Path, folders: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A handle of the folder, walked to from `root` one component at a time."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Where the root itself is, its owner decides: it may be a link
    handle = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for name in folders:
            if make:
                _make_folder(name, handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _make_folder(name: str, parent: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, mode=0o700, dir_fd=parent)
        os.fsync(parent)


def _write_synced(name: str, folder: int, content: bytes) -> None:
    with os.fdopen(os.open(name, _CREATE, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _refuse_unless_plain(status: os.stat_result, relative: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{_shown(relative)} is not a plain file")
    # Another name may be anywhere: what is beneath the root must be only there
    if status.st_nlink != 1:
        raise PathRefused(f"{_shown(relative)} is a file with more than one name")


def _entry(item: "os.DirEntry[str]") -> Entry | None:
    """None for what could not be opened anyway: links, pipes, names that are refused."""
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    is_folder = stat.S_ISDIR(status.st_mode)
    if _complaint(item.name) or not (is_folder or stat.S_ISREG(status.st_mode)):
        return None
    return Entry(item.name, is_folder, 0 if is_folder else status.st_size)


@contextlib.contextmanager
def _told(relative: str) -> Iterator[None]:
    """Turn what the operating system says into a sentence about the path."""
    try:
        yield
    except OSError as err:
        shown = _shown(relative)
        if err.errno in _NO_ROOM:
            raise StorageFull(f"{shown} was not written: {os.strerror(err.errno)}") from err
        if err.errno == errno.ENOENT:
            raise PathRefused(f"there is no {shown}") from err
        if err.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise PathRefused(f"{shown} is refused: a part of it is a link or a file") from err
        raise PathRefused(f"{shown} cannot be used: {err.strerror}") from err


def _shown(relative: str) -> str:
    return repr(relative if len(relative) <= _SHOWN_CHARS else f"{relative[:_SHOWN_CHARS]}...")
