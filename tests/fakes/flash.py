"""Flash whose power fails in the middle of its n-th operation, as slots of firmware/slots.py.

What has been written before is kept, what was in RAM is gone: `power_on` and look at it again.
"""

PIECE_BYTES = 256
_ERASED = 0xFF


class PowerCut(BaseException):
    """Not an Exception: no handler of the firmware lives on after it."""


class NativeFlash:
    """Two slots with pages of their own; bits only go from 1 to 0 until a page is erased."""

    CLASS = 3
    PAGES = 2
    page_bytes = 4_096

    def __init__(self) -> None:
        self._slots = [bytearray([_ERASED] * self.PAGES * self.page_bytes) for _ in range(2)]
        self.operations = 0
        self.cut_at: int | None = None

    def power_on(self) -> None:
        self.cut_at = None

    def size(self, _slot: int) -> int:
        return self.PAGES * self.page_bytes

    def read(self, slot: int, at: int, length: int) -> bytes:
        return bytes(self._slots[slot][at : at + length])

    def written(self, slot: int) -> int:
        return len(self._slots[slot].rstrip(b"\xff"))

    def erase(self, slot: int, page: int) -> None:
        start = page * self.page_bytes
        self._change(slot, start, b"\xff" * self.page_bytes)

    def write(self, slot: int, at: int, data: bytes) -> None:
        for start in range(at, at + len(data), PIECE_BYTES):
            piece = bytes(data[start - at : start - at + PIECE_BYTES])
            old = self._slots[slot][start : start + len(piece)]
            self._change(
                slot, start, bytes(new & kept for new, kept in zip(piece, old, strict=True))
            )

    def _change(self, slot: int, at: int, data: bytes) -> None:
        if self._fails():
            half = data[: len(data) // 2]
            self._slots[slot][at : at + len(half)] = half
            raise PowerCut
        self._slots[slot][at : at + len(data)] = data

    def _fails(self) -> bool:
        self.operations += 1
        return self.cut_at is not None and self.operations > self.cut_at


class WriteBackFlash(NativeFlash):
    """Sectors of 16 KB that are collected in RAM and then erased and written as a whole."""

    sector_bytes = 16_384
    PAGES = 1
    page_bytes = sector_bytes
    # Where each slot begins: one sector for each
    starts = (0, sector_bytes)

    def __init__(self) -> None:
        super().__init__()
        self._chip = bytearray([_ERASED] * 2 * self.sector_bytes)
        self._cache: bytearray | None = None
        self._cached = -1

    def power_on(self) -> None:
        super().power_on()
        self._cache, self._cached = None, -1

    def read(self, slot: int, at: int, length: int) -> bytes:
        start = self.starts[slot] + at
        return bytes(self._seen()[start : start + length])

    def written(self, slot: int) -> int:
        return len(self.read(slot, 0, self.size(slot)).rstrip(b"\xff"))

    def erase(self, slot: int, page: int) -> None:
        self._put(self.starts[slot], b"\xff" * self.size(slot))
        self._flush()

    def write(self, slot: int, at: int, data: bytes) -> None:
        self._put(self.starts[slot] + at, bytes(data))
        # A closed file is flushed
        self._flush()

    def _seen(self) -> bytearray:
        if self._cache is None:
            return self._chip
        start = self._cached * self.sector_bytes
        return self._chip[:start] + self._cache + self._chip[start + self.sector_bytes :]

    def _put(self, at: int, data: bytes) -> None:
        sector = at // self.sector_bytes
        if sector != self._cached:
            self._flush()
            start = sector * self.sector_bytes
            self._cached, self._cache = sector, self._chip[start : start + self.sector_bytes]
        assert self._cache is not None
        offset = at - sector * self.sector_bytes
        self._cache[offset : offset + len(data)] = data

    def _flush(self) -> None:
        if self._cache is None:
            return
        start = self._cached * self.sector_bytes
        half = self.sector_bytes // 2
        for piece, at in ((b"\xff" * 2 * half, start), (self._cache[:half], start),
                          (self._cache[half:], start + half)):  # fmt: skip
            if self._fails():
                raise PowerCut
            self._chip[at : at + len(piece)] = piece
        self._cache, self._cached = None, -1


class SharedSectorFlash(WriteBackFlash):
    """Both slots in one sector, as small files of a FAT are."""

    starts = (0, WriteBackFlash.sector_bytes // 2)

    def size(self, _slot: int) -> int:
        return self.sector_bytes // 2
