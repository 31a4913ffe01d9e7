"""Archive inside a backup: a plain tar stream, so that `age -d FILE | tar x` needs no Barnacle.

Written as it is asked for and read as it comes: memory stays bounded whatever the size.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO

from msgspec import Struct

from agent.backup.passphrase import Read
from agent.errors import BackupRefused

PIECE_BYTES = 65536
_BLOCK_BYTES = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK_BYTES)
_PRIVATE = 0o600


class Member(Struct, frozen=True):
    """A file on its way into an archive; `pieces` give exactly `size_bytes`."""

    name: str
    size_bytes: int
    pieces: Iterable[bytes]
    changed_s: float = 0.0
    mode: int = _PRIVATE


class ArchiveStream:
    """Reader of an archive that is made while it is read."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._pieces = _pieces(members)
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes; none at the end."""
        if not self._left:
            self._left = next(self._pieces, b"")
        if size < 0:
            size = len(self._left)
        piece, self._left = self._left[:size], self._left[size:]
        return piece


def _pieces(members: Iterable[Member]) -> Iterator[bytes]:
    for member in members:
        info = tarfile.TarInfo(member.name)
        info.size, info.mode, info.mtime = member.size_bytes, member.mode, int(member.changed_s)
        yield info.tobuf(tarfile.PAX_FORMAT)
        given = 0
        for piece in member.pieces:
            given += len(piece)
            if piece:
                yield piece
        if given != member.size_bytes:
            raise BackupRefused(f"{member.name} changed its size while it was read: try again")
        if padding := -given % _BLOCK_BYTES:
            yield bytes(padding)
    yield _END


def members_of(read: Read) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """Yield each file of an archive with its content, which is read before the next one.

    Raises:
        BackupRefused: it is no archive of ours.
    """
    try:
        with tarfile.open(fileobj=_Readable(read), mode="r|", bufsize=PIECE_BYTES) as tar:
            while (info := tar.next()) is not None:
                # It would keep every one
                tar.members = []  # type: ignore[attr-defined]  # documented nowhere, there for long
                content = tar.extractfile(info) if info.isreg() else None
                if content is None:
                    raise BackupRefused(f"it holds {info.name!r}, which is no plain file")
                yield info, content
    except tarfile.TarError as err:
        raise BackupRefused(f"the archive in it is damaged: {err}") from err


class _Readable(io.RawIOBase):
    """A call that reads, as a file."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return exactly so many bytes; fewer only at the end."""
        held = bytearray()
        while len(held) < size and (more := self._read(size - len(held))):
            held += more
        return bytes(held)
