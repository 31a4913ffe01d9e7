# Where firmware/node/store.py keeps a text on a board that scripts/flash has formatted.

from micropython import const

_BLOCK_BYTES = const(512)
_SYNC = const(3)
# As firmware/prompt/small_fat.py lays them out: first block and blocks of each text; its second
# place is so many blocks behind
_LAYOUT = {"stop": (0, 1), "configuration": (1, 9), "reflexes": (10, 2)}
_HALF_BLOCKS = const(16)


class Blocks:
    # The two places of a text in blocks of the flash that no file system has.

    # `kept` is the first block that no file has.

    def __init__(self, device, kept, name):
        first, self._count = _LAYOUT[name]
        self._first = kept + first
        self._device = device

    def read(self, at, start, size):
        end = min(start + size, self._count * _BLOCK_BYTES)
        found = bytearray(-(-end // _BLOCK_BYTES) * _BLOCK_BYTES)
        self._device.readblocks(self._first + at * _HALF_BLOCKS, found)
        return bytes(memoryview(found)[start:end])

    def write(self, at, head, text):
        size = len(head) + len(text)
        if size > self._count * _BLOCK_BYTES:
            raise OSError(28)
        made = bytearray(-(-size // _BLOCK_BYTES) * _BLOCK_BYTES)
        made[: len(head)] = head
        made[len(head) : size] = text
        self._device.writeblocks(self._first + at * _HALF_BLOCKS, made)
        self._device.ioctl(_SYNC, 0)
