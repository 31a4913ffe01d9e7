"""Writer of a backup: copies the databases one by one, and encrypts all parts as one stream."""

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from agent import __version__
from agent.backup.archive import PIECE_BYTES, ArchiveStream, Member
from agent.backup.database_copy import copy_database, trouble_of
from agent.backup.encryption import Recipients, encrypt
from agent.backup.folder import PARTIAL, remove_cut_off
from agent.backup.inventory import RING, SCRATCH, Inventory, Source
from agent.backup.manifest import (
    FORMAT,
    HEADER_NAME,
    MANIFEST_NAME,
    SUFFIX,
    Area,
    BackupHeader,
    BackupManifest,
    PartKind,
    PartRecord,
)
from agent.backup.ring_copy import copy_ring
from agent.errors import BackupRefused, StorageFull
from agent.storage.files import PRIVATE_FILE, PRIVATE_FOLDER, sync_folder
from agent.storage.lineage import read_lineage
from agent.storage.lock import locked

# A file up to this is read at once, so that no change comes in between
_AT_ONCE_BYTES = 1024 * 1024
# What stays free beside a backup and beside a copy: an agent goes on writing
MARGIN_BYTES = 16 * 1024 * 1024
# Headers and padding of the archive, for each part
_PART_BYTES = 2048
RING_NAME = f"{Area.STATE.value}/{RING}"
# A sector that a dying card cannot read any more, as SQLite calls it
_UNREADABLE = frozenset({"SQLITE_IOERR_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_SHORT_READ"})
# As much as the kernel gives up at once
_PAGE_BYTES = 4096
# Of what SQLite says of a damaged database, which may be several lines of pages
_MOST_CHARS = 120
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class BackupPlan(Struct, frozen=True):
    """Plan of one backup.

    Args:
        is_dated: the clock is believed.
    """

    inventory: Inventory
    recipients: Recipients
    device: str
    is_dated: bool = True

    @property
    def state_dir(self) -> Path:
        return self.inventory.state_dir

    def file_name(self, at_s: float) -> str:
        """Return the name of a file in a folder of backups; later ones sort after it."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at_s))
        return f"{self.device}-{stamp}{SUFFIX}"

    def write_file(self, target: Path) -> BackupManifest:
        """Write the backup beside `target`, then rename it.

        Raises:
            StorageFull: there is no room; nothing is left there.
            BackupRefused: it cannot be made.
        """
        remove_cut_off(target.parent, self.device, time.time())
        self._check_room(target.parent)
        partial = target.with_name(f"{target.name}{PARTIAL}")
        try:
            partial.unlink(missing_ok=True)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            with os.fdopen(handle, "wb") as file:
                manifest = self.write(file.write)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
            sync_folder(target.parent)
        except OSError as err:
            if err.errno in _NO_ROOM:
                raise StorageFull(
                    f"{target} was not written: {os.strerror(err.errno or 0)}; make room there, or "
                    "name another place with --to"
                ) from err
            raise
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
        return manifest

    def write(self, write: Callable[[bytes], object]) -> BackupManifest:
        """Write the backup piece by piece; return its manifest."""
        self.recipients.check()
        header = self._header()
        with _scratch(self.state_dir) as scratch:
            parts = _Parts(self.inventory, header, scratch)
            encrypt(ArchiveStream(parts.members()).read, write, self.recipients)
        return parts.manifest

    def _header(self) -> BackupHeader:
        lineage = read_lineage(self.state_dir)
        left_out = self.inventory.left_out
        for what, paths in (
            ("symbolic links are not followed", self.inventory.links()),
            ("cannot be looked into", self.inventory.closed()),
            ("files whose names are not UTF-8 wait to be renamed", self.inventory.unnamed()),
        ):
            if some := [_shown(path) for path in islice(paths, 3)]:
                left_out += (f"{what}: {', '.join(some)}",)
        return BackupHeader(
            format=FORMAT,
            version=__version__,
            device=self.device,
            made_at_s=round(time.time(), 3),
            epoch=lineage.epoch,
            born_as=lineage.device,
            is_dated=self.is_dated,
            left_out=left_out,
        )

    def _check_room(self, folder: Path) -> None:
        if not folder.is_dir():
            raise BackupRefused(f"{folder} is no folder: make it, or connect what belongs there")
        every = list(self.inventory.sources())
        whole = sum(one.size_bytes + _PART_BYTES for one in every)
        databases = (one.size_bytes for one in every if one.kind is PartKind.DATABASE)
        largest = max(databases, default=0)
        if folder.stat().st_dev == self.state_dir.stat().st_dev:
            _check_free(folder, whole + largest)
        else:
            _check_free(folder, whole)
            _check_free(self.state_dir, largest)


class _Parts:
    """Parts on their way into the archive, each noted in the manifest as it goes."""

    def __init__(self, inventory: Inventory, header: BackupHeader, scratch: Path) -> None:
        self._inventory = inventory
        self._header = header
        self._scratch = scratch
        self._records: list[PartRecord] = []
        self._troubles: list[str] = []
        self._is_whole = not any(inventory.set_aside())

    @property
    def manifest(self) -> BackupManifest:
        left_out = (*self._header.left_out, *self._troubles)
        header = msgspec.structs.replace(self._header, left_out=left_out)
        parts = tuple(self._records)
        return BackupManifest(header=header, parts=parts, is_whole=self._is_whole)

    def members(self) -> Iterator[Member]:
        """Yield everything that the archive holds."""
        yield _of_bytes(HEADER_NAME, msgspec.json.encode(self._header))
        ring, has_ring = self._scratch / RING, False
        if copy_ring(self._inventory.state_dir, ring):
            has_ring = True
            yield from self._file(Source(RING_NAME, ring), ring)
        for source in self._inventory.sources():
            if has_ring and source.name == RING_NAME:
                continue
            try:
                yield from self._members_of(source)
            except FileNotFoundError:
                if source.path is None or source.path.exists():
                    # What is missing is a copy of ours
                    raise
                # Removed since it was listed: the agent is at work
                continue
            except PermissionError as err:
                self._troubles.append(f"{err.filename} cannot be read by this user")
            except OSError as err:
                if err.errno != errno.EIO:
                    raise
                # The others are wanted all the more
                self._damaged(f"{source.name} cannot be read: the card or disk is failing")
        yield _of_bytes(MANIFEST_NAME, msgspec.json.encode(self.manifest))

    def _damaged(self, trouble: str) -> None:
        self._troubles.append(trouble)
        self._is_whole = False

    def _members_of(self, source: Source) -> Iterator[Member]:
        if source.path is None:
            yield self._noted(source, len(source.content), iter([source.content]))
        elif source.kind is PartKind.DATABASE:
            yield from self._database(source, source.path)
        else:
            yield from self._file(source, source.path)

    def _database(self, source: Source, path: Path) -> Iterator[Member]:
        copy = self._scratch / "copy.db"
        schema: int | None
        try:
            schema = copy_database(path, copy)
        except sqlite3.DatabaseError as err:
            # SQLite says of a removed one only that it cannot be opened
            path.stat()
            self._refuse_unless_damaged(path, err)
            # Better than nothing: what of it can be read is found when the agent sets it aside
            self._damaged(f"{path.name} is damaged ({err}): it is in it as it lies there")
            yield from self._file(source, path)
            return
        if trouble := trouble_of(copy):
            # As a plain file: a restore refuses a database that is not sound, and with it all else
            said = " ".join(trouble.split())[:_MOST_CHARS]
            self._damaged(f"{path.name} is damaged ({said}): it is in it as it lies there")
            schema = None
        with copy.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            yield self._noted(source, size, _exactly(file.read, size), path, schema)
        copy.unlink()

    def _refuse_unless_damaged(self, path: Path, err: sqlite3.DatabaseError) -> None:
        if not isinstance(err, sqlite3.OperationalError):
            return
        if getattr(err, "sqlite_errorname", "") in _UNREADABLE:
            return
        if "disk is full" in str(err) or "disk I/O" in str(err):
            raise StorageFull(f"{self._scratch} has no room for a copy of {path}") from err
        raise BackupRefused(f"{path} cannot be copied: {err}") from err

    def _file(self, source: Source, path: Path) -> Iterator[Member]:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            size = os.fstat(handle).st_size
            if size <= _AT_ONCE_BYTES and source.kind is not PartKind.DATABASE:
                content = file.read(size)
                yield self._noted(source, len(content), iter([content]), path)
            else:
                # A log may have grown since: its beginning is whole
                yield self._noted(source, size, self._read_around(source, handle, size), path)

    def _read_around(self, source: Source, handle: int, size: int) -> Iterator[bytes]:
        """Yield the content, with zeroes for what cannot be read of it: its size is told."""
        at, lost = 0, 0
        while at < size:
            try:
                piece = os.pread(handle, min(size - at, PIECE_BYTES), at)
            except OSError as err:
                if err.errno != errno.EIO:
                    raise
                piece = bytes(min(size - at, _PAGE_BYTES - at % _PAGE_BYTES))
                lost += len(piece)
            if not piece:
                # Rewritten by a tool: no reason to have no backup of all else
                self._troubles.append(
                    f"the end of {source.name}, which became shorter while it was read: zeroes "
                    "are in its place"
                )
                yield from _exactly(bytes, size - at)
                break
            at += len(piece)
            yield piece
        if lost:
            self._damaged(
                f"{lost} bytes of {source.name} cannot be read: the card or disk is failing"
            )

    def _noted(
        self,
        source: Source,
        size: int,
        pieces: Iterator[bytes],
        path: Path | None = None,
        schema: int | None = None,
    ) -> Member:
        digest = hashlib.sha256()

        def hashed() -> Iterator[bytes]:
            for piece in pieces:
                digest.update(piece)
                yield piece
            kind = source.kind
            if kind is PartKind.DATABASE and schema is None:
                kind = PartKind.FILE
            record = PartRecord(
                name=source.name,
                kind=kind,
                size_bytes=size,
                sha256=digest.hexdigest(),
                schema=schema,
                path=source.origin,
            )
            self._records.append(record)

        status = None if path is None else path.stat()
        changed_s = self._header.made_at_s if status is None else status.st_mtime
        mode = PRIVATE_FILE if status is None else (status.st_mode & 0o700) | PRIVATE_FILE
        return Member(source.name, size, hashed(), changed_s, mode)


def _shown(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _exactly(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    left = size
    while left and (piece := read(min(left, PIECE_BYTES))):
        left -= len(piece)
        yield piece


def _of_bytes(name: str, content: bytes) -> Member:
    return Member(name, len(content), iter([content]), time.time())


@contextlib.contextmanager
def _scratch(state_dir: Path) -> Iterator[Path]:
    """Yield an empty private folder on the disk of the state.

    Another backup that is being made has it to itself: it would lack what goes with the folder.
    """
    folder = state_dir / SCRATCH
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(folder))
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=PRIVATE_FOLDER)
        except (StorageFull, OSError) as err:
            raise BackupRefused(
                f"{err}: run the command as the agent's user, or with sudo"
            ) from err
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _check_free(folder: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes + MARGIN_BYTES:
        raise StorageFull(
            f"{folder} has {free_bytes // 1024**2} MB free, and the backup needs "
            f"{(needed_bytes + MARGIN_BYTES) // 1024**2} MB: make room, or name another place with "
            "--to"
        )
