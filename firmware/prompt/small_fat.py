# Makes a FAT on a board's flash that leaves more room: MicroPython's own spends a quarter of 64 KB
# on a root directory of 512 entries. Runs at the prompt, before the firmware is there.

import struct

_BLOCK_BYTES = 512
_NUM_BLOCKS = 4
_SYNC = 3
_ROOT_ENTRIES = 32
# Behind the file system, for what firmware/node/store.py keeps: on an F4 of 64 KB a sector of its
# own, so that writing it puts no file at risk
_KEPT_BLOCKS = 32
# On a Pyboard (112 KB) the last sector is the large one, which holds files: there it is the third,
# in the middle of the file system, which has these blocks as bad ones
_KEPT_WITHIN = {224: 64}
# In the boot block, behind its fields: the first block of what is kept
_KEPT_AT = 62
_BAD = 0xFF7
_ENTRY_BYTES = 32
_BOOT = b"\xeb\xfe\x90BARNACLE"
_MEDIA = 0xF8
_SIGNATURE = b"\x55\xaa"


def make(device):
    # One cluster a block, one table of 12 bits for each
    whole = device.ioctl(_NUM_BLOCKS, 0)
    is_within = whole in _KEPT_WITHIN
    blocks = whole if is_within else whole - _KEPT_BLOCKS
    kept = _KEPT_WITHIN.get(whole, blocks)
    table_blocks = -(-(blocks * 3 // 2 + 3) // _BLOCK_BYTES)
    boot = bytearray(_BLOCK_BYTES)
    boot[: len(_BOOT)] = _BOOT
    fields = (_BLOCK_BYTES, 1, 1, 1, _ROOT_ENTRIES, blocks, _MEDIA, table_blocks, 63, 255, 0, 0)
    struct.pack_into("<HBHBHHBHHHII", boot, len(_BOOT), *fields)
    boot[36], boot[38] = 0x80, 0x29
    boot[43:62] = b"NO NAME    FAT12   "
    struct.pack_into("<H", boot, _KEPT_AT, kept)
    boot[-2:] = _SIGNATURE
    device.writeblocks(0, boot)
    table = bytearray(_BLOCK_BYTES)
    table[:3] = bytes((_MEDIA, 0xFF, 0xFF))
    empty = bytearray(_BLOCK_BYTES)
    root_blocks = _ROOT_ENTRIES * _ENTRY_BYTES // _BLOCK_BYTES
    if is_within:
        first = kept - (1 + table_blocks + root_blocks) + 2
        for cluster in range(first, first + _KEPT_BLOCKS):
            _mark_bad(table, cluster)
    for at in range(1, 1 + table_blocks + root_blocks):
        device.writeblocks(at, table if at == 1 else empty)
    for at in range(kept, kept + _KEPT_BLOCKS):
        device.writeblocks(at, empty)
    device.ioctl(_SYNC, 0)


def _mark_bad(table, cluster):
    # Two entries of 12 bits in three bytes
    at = cluster * 3 // 2
    word = table[at] | table[at + 1] << 8
    word = word & 0x000F | _BAD << 4 if cluster % 2 else word & 0xF000 | _BAD
    table[at], table[at + 1] = word & 0xFF, word >> 8
