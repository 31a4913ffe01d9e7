"""Log of the writes to a card, in the form of QEMU's `blklogwrites`.

From it a card is made as it is after power was cut at any point: with everything up to there, or
without some of what came after the last flush, which a card may still have had in its memory.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_SUPER = struct.Struct("<QQQI")
_MAGIC = 0x6A736677736872
_ENTRY = struct.Struct("<QQQQ")
_FLUSH, _UNIT_ACCESS, _DISCARD = 1, 2, 4
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Write:
    """One of them.

    Args:
        place: of the card, in bytes.
        at: where its content begins in the log.
        is_barrier: whatever came before it is on the card for good when it is done.
    """

    place: int
    size: int
    at: int
    is_barrier: bool
    is_discard: bool


def read(log: Path, end: int = 0) -> list[Write]:
    """All of them, or those that the log's first `end` bytes hold whole."""
    with log.open("rb") as file:
        return list(_entries(file, end or log.stat().st_size))


def _entries(file: BinaryIO, end: int) -> Iterator[Write]:
    magic, _, _, size = _SUPER.unpack(file.read(_SUPER.size))
    if magic != _MAGIC:
        return
    at = size
    while at + size <= end:
        file.seek(at)
        sector, count, flags, _ = _ENTRY.unpack(file.read(_ENTRY.size))
        length = 0 if flags & _DISCARD else count * _SECTOR
        # Nothing but holes: the log of a machine that was killed ends anywhere
        if at + size + length > end or not (count or flags):
            return
        is_barrier = bool(flags & (_FLUSH | _UNIT_ACCESS))
        yield Write(
            sector * _SECTOR, count * _SECTOR, at + size, is_barrier, bool(flags & _DISCARD)
        )
        # Content is padded to whole sectors of the log
        at += size + -(-length // size) * size


class Replay:
    """A partition that goes through the writes of a log.

    Args:
        content: the partition as it was when the log began.
        start: where it is on the card.
    """

    def __init__(self, content: Path, start: int, log: Path, writes: list[Write]) -> None:
        self.content = content
        self._start = start
        self._size = content.stat().st_size
        self._log = log
        self._writes = writes
        self._done = 0

    def advance(self, count: int) -> None:
        """To the state after the first `count` writes, all of them kept."""
        with self.content.open("r+b") as card, self._log.open("rb") as log:
            for write in self._writes[self._done : count]:
                self._apply(write, card, log)
        self._done = count

    def cut(self, ahead: int, chance: random.Random, target: BinaryIO) -> None:
        """Put onto a copy some of the next writes, as far as no flush has settled them."""
        with self._log.open("rb") as log:
            for write in self._writes[self._done : self._done + ahead]:
                if write.is_barrier:
                    return
                if chance.random() < 1 / 2:
                    self._apply(write, target, log)

    def _apply(self, write: Write, card: BinaryIO, log: BinaryIO) -> None:
        place = write.place - self._start
        if write.is_discard or not write.size or not 0 <= place <= self._size - write.size:
            return
        log.seek(write.at)
        card.seek(place)
        card.write(log.read(write.size))
