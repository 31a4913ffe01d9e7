"""File of the newest batches, which are not in the database yet: slots that are used in turn.

A commit of SQLite writes several blocks of a card; a batch is a sector or two of its slot. The room
is taken once, so a full disk stops nothing here, and a slot that a power cut has torn fails its
checksum and is empty.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from agent.errors import StorageFull
from agent.readings.batch import Batch, Values
from agent.readings.sectors import PAGE_BYTES, SectorFile

# Of a batch no more than the sectors that it fills is written: mostly one of eight
SLOT_BYTES = PAGE_BYTES
# More than two days of a commit every ten minutes
SLOTS = 320
_HEADER = struct.Struct("<4sIH")
_MAGIC = b"BRG1"
_ROOM_BYTES = SLOT_BYTES - _HEADER.size
_LEVEL = 9


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """Content of a slot."""

    number: int
    boot: str
    offset_ms: int
    is_sure: bool
    # Each time after the first is the difference to the one before
    values: dict[int, Values]


class Ring:
    """The file; every call blocks for as long as a write takes."""

    def __init__(self, path: Path, slots: int = SLOTS) -> None:
        self._path = path
        self._file = SectorFile(path)
        self.slots = slots

    def read(self) -> list[Batch]:
        """Return the whole batches, the oldest first."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        found = (_batch_of(data[at : at + SLOT_BYTES]) for at in range(0, len(data), SLOT_BYTES))
        return sorted((one for one in found if one is not None), key=lambda one: one.number)

    def write(self, batch: Batch) -> list[Batch]:
        """Write a batch durably; return it as it was written, in more than one if it is large.

        Raises:
            StorageFull: nothing is certain of it.
        """
        parts = _parts(batch)
        slots = [(part.number % self.slots * SLOT_BYTES, slot) for part, slot in parts]
        try:
            self._file.write(slots, self.slots * SLOT_BYTES)
        except OSError as err:
            raise StorageFull(f"{self._path} was not written: {err}") from err
        return [part for part, _ in parts]


def _parts(batch: Batch) -> list[tuple[Batch, bytes]]:
    """Return the batch in as many parts as it needs, each with what its slot begins with."""
    content = zlib.compress(msgspec.msgpack.encode(_written(batch)), _LEVEL)
    if len(content) <= _ROOM_BYTES:
        header = _HEADER.pack(_MAGIC, zlib.crc32(content), len(content))
        return [(batch, header + content)]
    first, second = _halves(batch)
    parts = _parts(first)
    second.number = first.number + len(parts)
    return [*parts, *_parts(second)]


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


def _batch_of(slot: bytes) -> Batch | None:
    """Return the batch of a slot; None of one that is empty or torn."""
    if len(slot) < SLOT_BYTES:
        return None
    magic, checksum, size = _HEADER.unpack_from(slot)
    content = slot[_HEADER.size : _HEADER.size + size]
    if magic != _MAGIC or zlib.crc32(content) != checksum:
        return None
    written = msgspec.msgpack.decode(zlib.decompress(content), type=_Written)
    values = {one: (_sums(steps), values) for one, (steps, values) in written.values.items()}
    return Batch(written.number, written.boot, written.offset_ms, written.is_sure, values)
