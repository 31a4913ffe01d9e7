"""Generations of `MEMORY_SNAPSHOT.md` in one folder, each complete.

A new one is written beside, made durable and renamed; what it replaces was copied before. Holds
what every person said, so only the agent's own user may read it.
"""

import contextlib
import errno
import hashlib
import hmac
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from agent.errors import StorageFull
from agent.memory import snapshot
from agent.memory.base import MemoryEntry
from agent.storage.files import PRIVATE_FOLDER, begin_beside, sync_folder, write_atomic
from agent.storage.lock import locked

_log = logging.getLogger(__name__)

KEY_NAME = "memory-seal.key"
SEALS_NAME = "memory-seals"
# As many as generations are kept, and some of those that were taken out of the folder by hand
MAX_SEALS = 32
_KEY_BYTES = 32


class Seals:
    """Seals of one folder; blocking, for a thread."""

    def __init__(self, folder: Path) -> None:
        self._key_path = folder / KEY_NAME
        self._path = folder / SEALS_NAME

    def note(self, digest: str) -> None:
        """Note that this device wrote a file with that digest.

        Raises:
            OSError: it could not be kept.
        """
        code = _code(self._key() or self._made(), digest)
        known = self._known()
        if code in known:
            return
        write_atomic(
            self._path, "".join(f"{one}\n" for one in [*known, code][-MAX_SEALS:]).encode()
        )

    def is_ours(self, digest: str) -> bool:
        """Return true if this device wrote a file with that digest."""
        key = self._key()
        if key is None:
            return False
        code = _code(key, digest)
        return any(hmac.compare_digest(code.encode(), one.encode()) for one in self._known())

    def _key(self) -> bytes | None:
        """Return the key; None if it is missing or readable by others."""
        try:
            handle = os.open(self._key_path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                return None
            key = file.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None

    def _made(self) -> bytes:
        key = secrets.token_bytes(_KEY_BYTES)
        write_atomic(self._key_path, key)
        return key

    def _known(self) -> list[str]:
        try:
            return self._path.read_text(encoding="ascii", errors="replace").split()
        except OSError:
            return []


def _code(key: bytes, digest: str) -> str:
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


NAME = "MEMORY_SNAPSHOT.md"
# The newest and two before it: a mistake is noticed within a day, at two snapshots a day
KEPT_GENERATIONS = 3
_TEMP_SUFFIX = ".part"
# Memories that are written at a time
_PAGE_ENTRIES = 500
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG})


class WrittenSnapshot(Struct, frozen=True):
    """A snapshot that is on disk."""

    path: Path
    count: int
    digest: str


class Generation(Struct, frozen=True):
    """A snapshot on the disk and what its last line claims."""

    path: Path
    count: int
    digest: str

    def is_whole(self) -> bool:
        """Return true if the file is byte for byte as it was written."""
        digest = hashlib.sha256()
        held = b""
        with self.path.open("rb") as file:
            while piece := file.read(1 << 16):
                held += piece
                digest.update(held[: -snapshot.END_BYTES])
                held = held[-snapshot.END_BYTES :]
        body, _, _ = held.rpartition(b"\n<!-- ")
        digest.update(body)
        return digest.hexdigest() == self.digest

    def entries(self) -> Iterator[MemoryEntry | None]:
        """Yield its memories; None for each unreadable one."""
        with self.path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from snapshot.parse(lines)


class Rewritten(Struct, frozen=True):
    """Digests of a snapshot before and after it was written again."""

    before: str
    after: str


class SnapshotDraft:
    """A snapshot in progress; always call `discard` at the end."""

    def __init__(self, place: Path, put: Callable[[Generation], WrittenSnapshot]) -> None:
        self._place = place
        self._put = put
        self._count = 0
        self._digest = hashlib.sha256()
        # One of its own: a command may write a snapshot beside the agent
        self._path, handle = begin_beside(place)
        self._file = os.fdopen(handle, "wb")
        self._write(snapshot.HEADER.encode())

    def add(self, entries: Sequence[MemoryEntry]) -> None:
        """Add memories; raise StorageFull and keep the old snapshot."""
        with _saying_what_is_full(self._place):
            self._write("".join(map(snapshot.rendered, entries)).encode(errors="replace"))
        self._count += len(entries)

    def finish(self) -> WrittenSnapshot:
        """Move the snapshot to its place; an unchanged one replaces nothing.

        Raises:
            StorageFull: what was there is still there.
        """
        digest = self._digest.hexdigest()
        with _saying_what_is_full(self._place):
            self._file.write(snapshot.ending(self._count, digest))
            _sync(self._file)
            try:
                return self._put(Generation(self._path, self._count, digest))
            finally:
                # Not before it is in its place: nobody takes what is open for a leftover
                self._file.close()

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self, piece: bytes) -> None:
        self._digest.update(piece)
        self._file.write(piece)


class Generations:
    """Snapshots of one folder."""

    def __init__(self, folder: Path, kept: int = KEPT_GENERATIONS) -> None:
        self._folder = folder
        self._kept = kept
        self._seals = Seals(folder)

    @property
    def newest_path(self) -> Path:
        return self._folder / NAME

    def every(self) -> list[Generation]:
        """Return complete snapshots, newest first."""
        return [found for path in self._paths() if (found := _generation(path)) is not None]

    def is_ours(self, generation: Generation) -> bool:
        """Return true if this device wrote the file byte for byte."""
        return self._seals.is_ours(generation.digest) and generation.is_whole()

    def rewrite_without(self, is_gone: Callable[[MemoryEntry], bool]) -> list[Rewritten]:
        """Take these memories out of every complete snapshot; return those that had any.

        One that this device wrote stays its own. One with an unreadable part stays as it is.

        Raises:
            StorageFull: the snapshot that was there is still there.
        """
        with locked(self.newest_path):
            found = [self._rewritten(one, is_gone) for one in self.every()]
        return [one for one in found if one is not None]

    def _rewritten(
        self, old: Generation, is_gone: Callable[[MemoryEntry], bool]
    ) -> Rewritten | None:
        has_gone = False
        for entry in old.entries():
            if entry is None:
                _log.warning("memory: snapshot with unreadable parts kept (file=%s)", old.path.name)
                return None
            has_gone = has_gone or is_gone(entry)
        if not has_gone:
            return None
        is_ours = self.is_ours(old)

        def put(new: Generation) -> WrittenSnapshot:
            if is_ours:
                self._seals.note(new.digest)
            new.path.replace(old.path)
            sync_folder(self._folder)
            return WrittenSnapshot(old.path, new.count, new.digest)

        draft = SnapshotDraft(old.path, put)
        try:
            kept = (one for one in old.entries() if one is not None and not is_gone(one))
            while page := list(islice(kept, _PAGE_ENTRIES)):
                draft.add(page)
            return Rewritten(old.digest, draft.finish().digest)
        finally:
            draft.discard()

    def begin(self) -> "SnapshotDraft":
        """Begin a new snapshot, invisible until it is finished.

        Raises:
            StorageFull: the folder cannot be written.
        """
        with _saying_what_is_full(self.newest_path):
            self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            return SnapshotDraft(self.newest_path, self._put)

    def _put(self, new: Generation) -> WrittenSnapshot:
        """Move a snapshot to its place; others wait with theirs."""
        with locked(self.newest_path):
            return self._put_alone(new)

    def _put_alone(self, new: Generation) -> WrittenSnapshot:
        written = WrittenSnapshot(self.newest_path, new.count, new.digest)
        # First: one that is there and not known would be believed less than it is worth
        self._seals.note(new.digest)
        current = _generation(self.newest_path)
        if current is not None and current.digest == new.digest and current.is_whole():
            return written
        self._age()
        new.path.replace(self.newest_path)
        sync_folder(self._folder)
        return written

    def _age(self) -> None:
        """Make room for a new snapshot; the current one stays until it is replaced."""
        if not self.newest_path.exists():
            return
        older = self._paths()[1:]
        for younger, elder in reversed(list(pairwise(older))):
            if younger.exists():
                younger.replace(elder)
        if older:
            temp = older[0].with_name(f"{older[0].name}{_TEMP_SUFFIX}")
            temp.unlink(missing_ok=True)
            with self.newest_path.open("rb") as current, _created(temp) as copy:
                shutil.copyfileobj(current, copy)
                _sync(copy)
            temp.replace(older[0])

    def _paths(self) -> list[Path]:
        stem, suffix = NAME.rsplit(".", 1)
        older = [self._folder / f"{stem}.{number}.{suffix}" for number in range(1, self._kept)]
        return [self.newest_path, *older]


def _generation(path: Path) -> Generation | None:
    """Return the snapshot at that path if it is complete."""
    try:
        with path.open("rb") as file:
            file.seek(-min(snapshot.END_BYTES, path.stat().st_size), os.SEEK_END)
            last = file.read().decode(errors="replace").rstrip("\n").rpartition("\n")[2]
    except OSError:
        return None
    claim = snapshot.claimed(last)
    return None if claim is None else Generation(path, *claim)


@contextlib.contextmanager
def _saying_what_is_full(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        if err.errno in _NO_ROOM:
            text = f"{path} was not written: {os.strerror(err.errno or 0)}"
            raise StorageFull(text) from err
        raise


def _created(path: Path) -> BinaryIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(handle, "wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
