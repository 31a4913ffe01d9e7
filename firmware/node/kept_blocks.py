# Where firmware/node/store.py keeps a text on a board that scripts/flash has formatted, and whose
# flash is erased in pages: each text and each place has pages of its own.

from micropython import const

_BLOCK_BYTES = const(512)
_SYNC = const(3)
# First block and blocks of each text
_LAYOUT = {"stop": (0, 1), "configuration": (8, 9), "reflexes": (24, 2)}
# As older versions of scripts/flash have laid them out: side by side, the second place so many
# blocks behind
_OLD_LAYOUT = {"stop": (0, 1), "configuration": (1, 9), "reflexes": (10, 2)}
_OLD_APART = const(16)


class Blocks:
    # The two places of a text in blocks of the flash that no file system has.

    # `kept` is the first block that no file has, `apart` the blocks from one place to the other.

    def __init__(self, device, kept, apart, name):
        first, self._count = (_LAYOUT if apart else _OLD_LAYOUT)[name]
        self._first = kept + first
        self._apart = apart or _OLD_APART
        self._device = device

    def next(self, newest):
        return 1 if newest == 0 else 0

    def read(self, at, start, size):
        end = min(start + size, self._count * _BLOCK_BYTES)
        found = bytearray(-(-end // _BLOCK_BYTES) * _BLOCK_BYTES)
        self._device.readblocks(self._first + at * self._apart, found)
        return bytes(memoryview(found)[start:end])

    def write(self, at, head, text):
        size = len(head) + len(text)
        if size > self._count * _BLOCK_BYTES:
            raise OSError(28)
        made = bytearray(-(-size // _BLOCK_BYTES) * _BLOCK_BYTES)
        made[: len(head)] = head
        made[len(head) : size] = text
        self._device.writeblocks(self._first + at * self._apart, made)
        self._device.ioctl(_SYNC, 0)
