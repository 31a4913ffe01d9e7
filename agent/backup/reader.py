"""Reader of a backup: decrypted in a thread, its parts hashed and compared with the manifest."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from agent.backup.archive import PIECE_BYTES, members_of
from agent.backup.encryption import Keys, decrypt
from agent.backup.manifest import (
    HEADER_NAME,
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Area,
    BackupHeader,
    BackupManifest,
    decoded,
)
from agent.errors import BackupRefused
from agent.storage.files import PRIVATE_FILE, PRIVATE_FOLDER

_MAX_NAME_BYTES = 4096
_AREAS = frozenset(area.value for area in Area)


class SeenPart(Struct):
    """A part as it came out of the archive."""

    name: str
    size_bytes: int
    sha256: str


class ReadBackup(Struct):
    """Everything that a backup was found to hold."""

    header: BackupHeader
    manifest: BackupManifest
    seen: dict[str, SeenPart] = field(default_factory=dict)

    def differences(self) -> dict[str, str]:
        """Return what is wrong with which part."""
        wrong = {}
        for part in self.manifest.parts:
            seen = self.seen.get(part.name)
            if seen is None:
                wrong[part.name] = "is missing"
            elif (seen.size_bytes, seen.sha256) != (part.size_bytes, part.sha256):
                wrong[part.name] = "differs from the manifest"
        known = {part.name for part in self.manifest.parts}
        wrong |= {name: "is not in the manifest" for name in self.seen if name not in known}
        return wrong


# Takes a part's name, its content and its rights; writes what it wants of it to the file it opens
Keep = Callable[[str, int], "IO[bytes] | None"]


def read_backup(path: Path, keys: Keys, keep: Keep = lambda _name, _mode: None) -> ReadBackup:
    """Read a whole backup.

    Args:
        keep: returns an open file for a part that is wanted, which is closed here.

    Raises:
        BackupRefused: it cannot be decrypted, or is not whole.
    """
    header: BackupHeader | None = None
    manifest: BackupManifest | None = None
    seen: dict[str, SeenPart] = {}
    with _decrypted(path, keys) as plain:
        for info, content in members_of(plain):
            if header is None:
                if info.name != HEADER_NAME:
                    raise BackupRefused(f"it begins with {info.name!r}: it is no backup")
                header = decoded(_small(content), BackupHeader)
            elif info.name == MANIFEST_NAME:
                manifest = decoded(_small(content), BackupManifest)
            else:
                name = checked_name(info.name)
                if name in seen:
                    raise BackupRefused(f"it holds {name} twice")
                seen[name] = _taken(name, content, keep(name, info.mode))
    if header is None or manifest is None:
        raise BackupRefused("it has no manifest: it was cut off when it was made")
    return ReadBackup(header, manifest, seen)


def checked_name(name: str) -> str:
    """Return the name of a part.

    Raises:
        BackupRefused: it leads out of its folder.
    """
    area, _, rest = name.partition("/")
    is_odd = len(name.encode()) > _MAX_NAME_BYTES or "\0" in name
    if is_odd or area not in _AREAS or {"", ".", ".."} & set(rest.split("/")):
        raise BackupRefused(f"it holds a part of the name {name[:80]!r}, which leads nowhere")
    return name


def open_below(folder: Path, name: str, mode: int) -> IO[bytes]:
    """Create a file of a part below a folder."""
    path = folder / checked_name(name)
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    rights = PRIVATE_FILE | (mode & 0o100)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, rights)
    return os.fdopen(handle, "wb")


def _taken(name: str, content: IO[bytes], target: "IO[bytes] | None") -> SeenPart:
    digest, size = hashlib.sha256(), 0
    with target if target is not None else contextlib.nullcontext():
        while piece := content.read(PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
            if target is not None:
                target.write(piece)
        if target is not None:
            target.flush()
            os.fsync(target.fileno())
    return SeenPart(name, size, digest.hexdigest())


def _small(content: IO[bytes]) -> bytes:
    data = content.read(MAX_MANIFEST_BYTES + 1)
    if len(data) > MAX_MANIFEST_BYTES:
        raise BackupRefused("its list of parts is too long")
    return data


class _Decryption:
    """Decryption in a thread, read from a pipe; its errors are raised where it is read."""

    def __init__(self, path: Path, keys: Keys) -> None:
        self._source = path.open("rb")
        self._keys = keys
        self._reading, self._writing = os.pipe()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="decryption")
        self._thread.start()

    def read(self, size: int) -> bytes:
        """Return some bytes; none at the end."""
        data = os.read(self._reading, size)
        if not data:
            self._thread.join()
            if self._failure is not None:
                raise self._failure
        return data

    def close(self) -> None:
        """End it wherever it is."""
        os.close(self._reading)
        self._thread.join()

    def _work(self) -> None:
        try:
            with self._source:
                decrypt(self._source.read, self._write, self._keys)
        except BrokenPipeError:
            # Whoever reads had enough
            pass
        except BaseException as err:  # noqa: BLE001 - raised where it is waited for
            self._failure = err
        finally:
            os.close(self._writing)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._writing, view) :]


@contextlib.contextmanager
def _decrypted(path: Path, keys: Keys) -> Iterator[Callable[[int], bytes]]:
    """Yield a reader of the plain content; its errors are those of the decryption."""
    decryption = _Decryption(path, keys)
    try:
        yield decryption.read
        # What follows the archive's end is padding; a broken end is found there
        while decryption.read(PIECE_BYTES):
            pass
    finally:
        decryption.close()
