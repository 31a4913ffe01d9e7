# Where firmware/node/store.py keeps a text on a board that scripts/flash has formatted, and whose
# flash is erased in sectors as large as a place.
#
# A place is a sector, and has all texts. Whoever writes one of them writes the whole place that is
# older, with what the newer has of the others: a cut leaves the newer one as it was. Its last block
# is written last, and says that it is whole: a number that grows, and the opposite of each of its
# bits, which an erase that was cut never leaves.

import struct

from micropython import const

_BLOCK_BYTES = const(512)
_SYNC = const(3)
# First block and blocks of each text, as in kept_blocks.py
_LAYOUT = {"stop": (0, 1), "configuration": (8, 9), "reflexes": (24, 2)}
_MARK = const(31)
_ONES = const(0xFFFFFFFF)


class Sectors:
    # The two places of a text in sectors of their own.

    # `kept` is the first block of the first place, `apart` the blocks of each.

    def __init__(self, device, kept, apart, name):
        self._first, self._count = _LAYOUT[name]
        self._kept = kept
        self._apart = apart
        self._device = device

    def next(self, _newest):
        # The place that is not whole, or the older one: it has nothing that counts
        return 1 if self._number(0) > self._number(1) else 0

    def read(self, at, start, size):
        # What is in a place that is not whole is nothing, as if it were erased
        if self._number(at) < 0:
            return b"\xff" * size
        # Block by block, since memory is short where this is needed
        end = min(start + size, self._count * _BLOCK_BYTES)
        found = bytearray(end - start)
        block = bytearray(_BLOCK_BYTES)
        done = 0
        while start < end:
            self._device.readblocks(self._block(at, self._first + start // _BLOCK_BYTES), block)
            skipped = start % _BLOCK_BYTES
            piece = memoryview(block)[skipped : min(_BLOCK_BYTES, skipped + end - start)]
            found[done : done + len(piece)] = piece
            done += len(piece)
            start += len(piece)
        return found

    def write(self, at, head, text):
        if len(head) + len(text) > self._count * _BLOCK_BYTES:
            raise OSError(28)
        number = max(0, self._number(1 - at)) + 1
        # First it is not whole any more, for a part that erases less than a place at once
        block = bytearray(b"\xff" * _BLOCK_BYTES)
        self._device.writeblocks(self._block(at, _MARK), block)
        written = 0
        for one in range(_MARK):
            if not self._first <= one < self._first + self._count:
                self._device.readblocks(self._block(1 - at, one), block)
            else:
                begin = len(head) if one == self._first else 0
                block[:begin] = head[:begin]
                piece = memoryview(text)[written : written + _BLOCK_BYTES - begin]
                block[begin : begin + len(piece)] = piece
                written += len(piece)
            self._device.writeblocks(self._block(at, one), block)
        struct.pack_into("<II", block, 0, number, number ^ _ONES)
        self._device.writeblocks(self._block(at, _MARK), block)
        self._device.ioctl(_SYNC, 0)

    def _number(self, at):
        # 0 for one that was made and never used, negative for one that is not whole
        block = bytearray(_BLOCK_BYTES)
        self._device.readblocks(self._block(at, _MARK), block)
        number, opposite = struct.unpack_from("<II", block, 0)
        if number ^ opposite == _ONES:
            return number
        return -1 if number or opposite else 0

    def _block(self, at, one):
        return self._kept + at * self._apart + one
