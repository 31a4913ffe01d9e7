"""Access to files beneath a folder, component by component: no path leads out of it.

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from agent.errors import PathRefused, StorageFull

# What file systems take for one name
MAX_PART_BYTES = 255
# Deep enough for any work, and far below what the system takes for a whole path
MAX_PARTS = 16
# Of a refused path: enough to recognise it
_SHOWN_CHARS = 100
# Links and the like that are passed over in one folder, besides what is listed of it
_MAX_LEFT_OUT = 20_000
# The folder itself
HERE = "."

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK a pipe in the place of a file would hold the reader for ever
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# O_EXCL follows no link either
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_NEW_MODE = 0o600
# Never the bits that let a file run as somebody else
_KEPT_MODE = 0o777
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
# Cc control, Cf direction and zero width, Cs lone surrogates, Zl and Zp line ends
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class FolderEntry(Struct, frozen=True):
    """A file or folder that can be opened."""

    name: str
    is_folder: bool
    size_bytes: int


class WalkEntry(Struct, frozen=True):
    """An entry met on a walk; `folder` is open only until the next step."""

    relative: str
    entry: FolderEntry
    folder: int


def parts_of(relative: str) -> tuple[str, ...]:
    """Split a path into components; each must be a plain name.

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
    """Open a plain file beneath `root` for reading.

    Raises:
        PathRefused: there is no such file, or it may not be reached.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders) as folder:
        return _opened(name, folder, relative)


def open_found(found: WalkEntry) -> BinaryIO:
    """Open a plain file that a walk has met for reading.

    Raises:
        PathRefused: it is something else by now.
    """
    with _told(found.relative):
        return _opened(found.entry.name, found.folder, found.relative)


def write_beneath(root: Path, relative: str, content: bytes) -> None:
    """Make or replace a plain file beneath `root` completely or not at all; make its folders.

    The mode of one that is there stays: others may read it, or run it.

    Raises:
        PathRefused: it may not be reached.
        StorageFull: no room; nothing was changed.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders, make=True) as folder:
        mode = _NEW_MODE
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _refuse_unless_plain(status, relative)
            mode = _kept(status)
        _replace(name, folder, content, mode)


def change_beneath(root: Path, relative: str, change: Callable[[BinaryIO], bytes]) -> None:
    """Replace a plain file beneath `root` by the result of `change`, completely or not at all.

    Its mode stays. What `change` raises leaves everything as it was.

    Raises:
        PathRefused: there is no such file, it may not be reached, or somebody else changed it
            in the meantime.
        StorageFull: no room; nothing was changed.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders) as folder:
        with _opened(name, folder, relative) as file:
            before = os.fstat(file.fileno())
            content = change(file)
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if _version(now) != _version(before):
            raise PathRefused(
                f"{_shown(relative)} was changed by another program meanwhile: try again"
            )
        _replace(name, folder, content, _kept(before))


def walk_beneath(root: Path, relative: str, limit: int) -> Iterator[WalkEntry]:
    """Yield files and folders of a folder beneath `root`, each before its content.

    At most `limit` are looked at; what lies deeper than a path may go is left out. A folder that
    is gone or becomes a link meanwhile is passed over.

    Raises:
        PathRefused: there is no such folder, or it may not be reached.
    """
    folders = () if relative == HERE else parts_of(relative)
    with _told(relative), _folder(root, folders) as folder:
        yield from itertools.islice(_walk(folder, folders, limit), limit)


def remove_beneath(root: Path, relative: str) -> None:
    """Remove a plain file beneath `root`; do nothing if it is gone already.

    Raises:
        PathRefused: it may not be reached.
    """
    *folders, name = parts_of(relative)
    with _told(relative), _folder(root, folders) as folder, contextlib.suppress(FileNotFoundError):
        _refuse_unless_plain(os.stat(name, dir_fd=folder, follow_symlinks=False), relative)
        os.unlink(name, dir_fd=folder)


def list_beneath(root: Path, relative: str, limit: int) -> list[FolderEntry]:
    """Return the entries of a folder beneath `root` by name, `limit` at most.

    Raises:
        PathRefused: there is no such folder, or it may not be reached.
    """
    folders = () if relative == HERE else parts_of(relative)
    with _told(relative), _folder(root, folders) as folder:
        return _entries(folder, limit)


def all_beneath(root: Path, relative: str, limit: int) -> list[FolderEntry]:
    """Return the same with all that cannot be opened here: links, pipes, names that are refused.

    For whoever looks for what another program would read.

    Raises:
        PathRefused: there is no such folder, or it may not be reached.
    """
    folders = () if relative == HERE else parts_of(relative)
    with _told(relative), _folder(root, folders) as folder, os.scandir(folder) as found:
        return [
            FolderEntry(item.name, item.is_dir(follow_symlinks=False), 0)
            for item in itertools.islice(found, limit)
        ]


def _complaint(part: str) -> str:
    if not part:
        return "it is absolute or has an empty part"
    if any(unicodedata.category(char) in _HIDDEN or char == "\\" for char in part):
        return "it has a backslash or invisible characters"
    if part[-1] in ". ":
        return "a part of it ends in a dot or a space"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"a part of it is longer than {MAX_PART_BYTES} bytes"
    return ""


@contextlib.contextmanager
def _folder(root: Path, folders: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Yield a handle of the folder, opened from `root` one component at a time."""
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


def _opened(name: str, folder: int, relative: str) -> BinaryIO:
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        _refuse_unless_plain(os.fstat(handle), relative)
        return os.fdopen(handle, "rb")
    except PathRefused:
        os.close(handle)
        raise


def _entries(folder: int, limit: int) -> list[FolderEntry]:
    with os.scandir(folder) as found:
        looked_at = itertools.islice(found, limit + _MAX_LEFT_OUT)
        usable = (entry for item in looked_at if (entry := _entry(item)))
        return sorted(itertools.islice(usable, limit), key=lambda entry: entry.name)


def _walk(folder: int, above: tuple[str, ...], limit: int) -> Iterator[WalkEntry]:
    if len(above) == MAX_PARTS:
        return
    for entry in _entries(folder, limit):
        parts = (*above, entry.name)
        yield WalkEntry("/".join(parts), entry, folder)
        if entry.is_folder:
            with contextlib.suppress(OSError), _inner(entry.name, folder) as inner:
                yield from _walk(inner, parts, limit)


@contextlib.contextmanager
def _inner(name: str, folder: int) -> Iterator[int]:
    handle = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _make_folder(name: str, parent: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, mode=0o700, dir_fd=parent)
        os.fsync(parent)


def _replace(name: str, folder: int, content: bytes, mode: int) -> None:
    """Replace the old file by a new one; one of them is always there whole."""
    temp = f".{secrets.token_hex(8)}.part"
    try:
        _write_synced(temp, folder, content, mode)
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    os.fsync(folder)


def _version(status: os.stat_result) -> tuple[int, ...]:
    """Return values that change with every write to the file and every replacement."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_nlink)


def _kept(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode) & _KEPT_MODE


def _write_synced(name: str, folder: int, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(name, _CREATE, _NEW_MODE, dir_fd=folder), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())


def _refuse_unless_plain(status: os.stat_result, relative: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{_shown(relative)} is not a plain file")
    # Another name may be anywhere: what is beneath the root must be only there
    if status.st_nlink != 1:
        raise PathRefused(f"{_shown(relative)} is a file with more than one name")


def _entry(item: "os.DirEntry[str]") -> FolderEntry | None:
    """Return the entry; None for links, pipes and refused names."""
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    is_folder = stat.S_ISDIR(status.st_mode)
    if _complaint(item.name) or not (is_folder or stat.S_ISREG(status.st_mode)):
        return None
    return FolderEntry(item.name, is_folder, 0 if is_folder else status.st_size)


@contextlib.contextmanager
def _told(relative: str) -> Iterator[None]:
    """Turn an operating system error into a sentence about the path."""
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
