"""Sectors of a file that are written past the cache of pages, which would write whole pages.

Where the file system or the disk cannot do that, a page is written as usual.
"""

import errno
import mmap
import os
from pathlib import Path

# What disks and cards are addressed by, mostly; some take nothing smaller than a page
SECTOR_BYTES, PAGE_BYTES = 512, 4096


class SectorFile:
    """A file of pages; the beginning of one is written alone. Every call blocks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The least that is written at once; found out by trying
        self.unit_bytes = SECTOR_BYTES

    def write(self, pieces: list[tuple[int, bytes]], size: int) -> None:
        """Write each piece at its place durably, in a file of `size` bytes.

        Args:
            pieces: each at the beginning of a page and no longer than one.

        Raises:
            OSError: nothing is certain of it.
        """
        handle = self._opened(size)
        try:
            for place, piece in pieces:
                self._write_piece(handle, place, piece)
            os.fdatasync(handle)
        finally:
            os.close(handle)

    def _opened(self, size: int) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(handle).st_size < size:
            # Written, not only reserved: later writes then change no table of the file system
            os.pwrite(handle, bytes(size), 0)
            os.fsync(handle)
        return handle

    def _write_piece(self, handle: int, place: int, piece: bytes) -> None:
        while self.unit_bytes <= PAGE_BYTES:
            try:
                _write_direct(self._path, place, _padded(piece, self.unit_bytes))
            except OSError as err:
                if err.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
                    raise
                # Larger sectors, or a file system that has everything in its cache
                self.unit_bytes *= PAGE_BYTES // SECTOR_BYTES
            else:
                return
        os.pwrite(handle, _padded(piece, PAGE_BYTES), place)


def _write_direct(path: Path, place: int, data: bytes) -> None:
    direct = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT)
    try:
        # The kernel takes memory that begins where a page does
        with mmap.mmap(-1, PAGE_BYTES) as memory:
            memory[: len(data)] = data
            with memoryview(memory) as view, view[: len(data)] as part:
                os.pwrite(direct, part, place)
    finally:
        os.close(direct)


def _padded(piece: bytes, unit_bytes: int) -> bytes:
    return piece.ljust(-(-len(piece) // unit_bytes) * unit_bytes, b"\0")
