"""File of the newest batches, which are not in the database yet: slots that are used in turn.

A commit of SQLite writes several blocks of a card; a batch is a sector or two of its slot. The room
is taken once, so a full disk stops nothing here, and a slot that a power cut has torn fails its
checksum and is empty. On a block device of its own nothing is written but the batch.
"""

import errno
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from agent.errors import StorageFull
from agent.readings.batch import Batch, Values
from agent.storage.files import sync_folder

# What disks and cards are addressed by, mostly; some take nothing smaller than a page
SECTOR_BYTES, PAGE_BYTES = 512, 4096
# Of a batch no more than the sectors that it fills is written: mostly one of eight
SLOT_BYTES = PAGE_BYTES
# More than two days of a commit every ten minutes
SLOTS = 320
_HEADER = struct.Struct("<4sIH")
_MAGIC = b"BRG1"
_ROOM_BYTES = SLOT_BYTES - _HEADER.size
_LEVEL = 9


class SectorFile:
    """A file of pages or a block device; the beginning of a page is written alone. Calls block."""

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
        # The end says it of a block device, too
        if os.lseek(handle, 0, os.SEEK_END) < size:
            # Before it is long enough, or its name might never be in the folder for good
            sync_folder(self._path.parent)
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


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """Content of a slot."""

    number: int
    boot: str
    offset_ms: int
    is_sure: bool
    # Each time after the first is the difference to the one before
    values: dict[int, Values]


class Ring:
    """The file; every call blocks for as long as a write takes.

    Args:
        mark: of the store that it belongs to; slots of another one are empty.
    """

    def __init__(self, path: Path, slots: int = SLOTS, mark: int = 0) -> None:
        self._path = path
        self._file = SectorFile(path)
        self._mark = mark
        self.slots = slots

    def read(self) -> list[Batch]:
        """Return the whole batches, the oldest first.

        Raises:
            StorageFull: the card or the device fails.
        """
        try:
            with self._path.open("rb") as file:
                data = file.read(self.slots * SLOT_BYTES)
        except FileNotFoundError:
            return []
        except OSError as err:
            raise StorageFull(f"{self._path} was not read: {err}") from err
        places = range(0, len(data), SLOT_BYTES)
        found = (_batch_of(data[at : at + SLOT_BYTES], self._mark) for at in places)
        return sorted((one for one in found if one is not None), key=lambda one: one.number)

    def write(self, batch: Batch) -> list[Batch]:
        """Write a batch durably; return it as it was written, in more than one if it is large.

        Raises:
            StorageFull: nothing is certain of it.
        """
        parts = _parts(batch)
        slots = [
            (part.number % self.slots * SLOT_BYTES, _headed(content, self._mark))
            for part, content in parts
        ]
        try:
            self._file.write(slots, self.slots * SLOT_BYTES)
        except OSError as err:
            raise StorageFull(f"{self._path} was not written: {err}") from err
        return [part for part, _ in parts]


def _parts(batch: Batch) -> list[tuple[Batch, bytes]]:
    """Return the batch in as many parts as it needs, each with what its slot contains."""
    content = zlib.compress(msgspec.msgpack.encode(_written(batch)), _LEVEL)
    if len(content) <= _ROOM_BYTES:
        return [(batch, content)]
    first, second = _halves(batch)
    parts = _parts(first)
    second.number = first.number + len(parts)
    return [*parts, *_parts(second)]


def _headed(content: bytes, mark: int) -> bytes:
    return _HEADER.pack(_MAGIC, zlib.crc32(content, mark), len(content)) + content


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    """Return an earlier and a later half of each reading's values."""
    halves = tuple(
        Batch(batch.number, batch.boot, batch.offset_ms, batch.is_sure) for _ in range(2)
    )
    for series_id, (times, values) in batch.values.items():
        middle = (len(times) + (series_id & 1)) // 2
        for half, part in zip(halves, (slice(0, middle), slice(middle, None)), strict=True):
            if times[part]:
                half.values[series_id] = (times[part], values[part])
    return halves[0], halves[1]


def _written(batch: Batch) -> _Written:
    values = {
        series_id: (_steps(times), values) for series_id, (times, values) in batch.values.items()
    }
    return _Written(batch.number, batch.boot, batch.offset_ms, batch.is_sure, values)


def _steps(times: Sequence[int]) -> list[int]:
    return [later - earlier for earlier, later in zip([0, *times], times, strict=False)]


def _sums(steps: Iterable[int]) -> list[int]:
    at = 0
    return [at := at + step for step in steps]


def _batch_of(slot: bytes, mark: int) -> Batch | None:
    """Return the batch of a slot; None of one that is empty, torn or of another store."""
    if len(slot) < SLOT_BYTES:
        return None
    magic, checksum, size = _HEADER.unpack_from(slot)
    content = slot[_HEADER.size : _HEADER.size + size]
    if magic != _MAGIC or zlib.crc32(content, mark) != checksum:
        return None
    written = msgspec.msgpack.decode(zlib.decompress(content), type=_Written)
    values = {one: (_sums(steps), values) for one, (steps, values) in written.values.items()}
    return Batch(written.number, written.boot, written.offset_ms, written.is_sure, values)
