# Slots of blocks that no file system has, on a board whose flash is erased in small pages:
# `raw_slots` of firmware/slots.py there. scripts/flash makes room for them.

import pyb
from micropython import const

CLASS = 3

_BLOCK_BYTES = const(512)
_NUM_BLOCKS = const(4)
_SYNC = const(3)
# Behind the file system and what is kept (firmware/prompt/small_fat.py)
_FIRST = const(96)
# As many as the largest page has, so that no two slots share one
_PAGE_BLOCKS = const(8)
# Of a flash chip: more is of no use, and takes its time to erase
_PAGES_MOST = const(40)

_device = pyb.Flash(start=0)
PAGES = min(_PAGES_MOST, (_device.ioctl(_NUM_BLOCKS, 0) - _FIRST) // (2 * _PAGE_BLOCKS))


def size(_slot):
    return PAGES * _PAGE_BLOCKS * _BLOCK_BYTES


def read(slot, at, length):
    length = min(length, size(slot) - at)
    if length <= 0:
        return b""
    skipped = at % _BLOCK_BYTES
    found = bytearray(-(-(skipped + length) // _BLOCK_BYTES) * _BLOCK_BYTES)
    _device.readblocks(_block(slot, at), found)
    return bytes(memoryview(found)[skipped : skipped + length])


def written(slot):
    # Up to the last byte that is not erased
    for at in range(size(slot) - _BLOCK_BYTES, -1, -_BLOCK_BYTES):
        left = read(slot, at, _BLOCK_BYTES).rstrip(b"\xff")
        if left:
            return at + len(left)
    return 0


def erase(slot, page):
    erased = b"\xff" * _BLOCK_BYTES
    first = _block(slot, 0) + page * _PAGE_BLOCKS
    for block in range(first, first + _PAGE_BLOCKS):
        _device.writeblocks(block, erased)
    _device.ioctl(_SYNC, 0)


def write(slot, at, data):
    first = at - at % _BLOCK_BYTES
    whole = bytearray(
        read(slot, first, -(-(at + len(data)) // _BLOCK_BYTES) * _BLOCK_BYTES - first)
    )
    whole[at - first : at - first + len(data)] = data
    _device.writeblocks(_block(slot, at), whole)
    _device.ioctl(_SYNC, 0)


def _block(slot, at):
    return _FIRST + slot * PAGES * _PAGE_BLOCKS + at // _BLOCK_BYTES
