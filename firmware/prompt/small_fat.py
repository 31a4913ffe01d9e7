# Makes a FAT on a board's flash that leaves more room: MicroPython's own spends a quarter of 64 KB
# on a root directory of 512 entries. Runs at the prompt, before the firmware is there, and where
# the firmware is frozen in (firmware/frozen_slots.py).

import hashlib
import struct

_BLOCK_BYTES = 512
_NUM_BLOCKS = 4
_SYNC = 3
_ROOT_ENTRIES = 32
# Behind the file system, for what firmware/node/store.py keeps, so that writing it puts no file at
# risk: the two places of a layout that has them in one sector
_KEPT_BLOCKS = 32
# In the boot block, behind its fields: the first block of what is kept, the blocks from its first
# place to its second (0: that layout), 1 where all texts of a place share a sector
_KEPT_AT = 62
_KEPT_FIELDS = "<HHH"
_BOOT = b"\xeb\xfe\x90BARNACLE"
_MEDIA = 0xF8
# As firmware/node/store.py keeps an emergency stop: hash, number and length, and the text
_STOPPED = b"stopped"
_HASH_BYTES = 8
_TEXT_AT = 16
# Both layouts: blocks of the file system (0: all but what is kept), blocks from place to place
_OLD_APART = 16
_LAYOUTS = ((0, _OLD_APART), (32, 32))
_LEAST_BLOCKS = 96
_BLOCKS_AT = 19
# The last block of a place whose texts share a sector says that it is whole
_MARK = 31
_ONES = 0xFFFFFFFF
_SIGNATURE = b"\x55\xaa"


def is_divided(device):
    # Whether the places of what is kept lie in sectors of their own
    block = bytearray(_BLOCK_BYTES)
    device.readblocks(0, block)
    return block[: len(_BOOT)] == _BOOT and struct.unpack_from(_KEPT_FIELDS, block, _KEPT_AT)[1] > 0


def is_stopped(device):
    # Whether an emergency stop is kept, where the flash is divided or in files. What is torn may
    # have been one.
    block = bytearray(_BLOCK_BYTES)
    device.readblocks(0, block)
    is_ours = block[: len(_BOOT)] == _BOOT
    if is_ours:
        first, apart = struct.unpack_from("<HH", block, _KEPT_AT)
        first = first or struct.unpack_from("<H", block, _BLOCKS_AT)[0]
        # One that was made and never used bears zeros
        kept = [place for place in _places(device, first, apart or _OLD_APART) if any(place)]
    else:
        kept = _files()
    whole = [_whole(place) for place in kept]
    return None in whole or _says_stop(whole) or (not is_ours and _is_begun(device))


def _places(device, first, apart):
    found = []
    for at in (first, first + apart):
        block = bytearray(_BLOCK_BYTES)
        device.readblocks(at, block)
        found.append(block)
    return found


def _files():
    # An empty one, or one of zeros, was being written, or the flash divided, when the power failed
    found = []
    for name in ("stop_a.bin", "stop_b.bin"):
        try:
            with open(name, "rb") as file:
                found.append(file.read(_BLOCK_BYTES))
        except OSError:
            continue
    return found


def _is_begun(device):
    # Whether a stop is where it belongs already, because a cut has ended the work on this
    blocks = device.ioctl(_NUM_BLOCKS, 0)
    for files, apart in _LAYOUTS:
        if blocks >= _LEAST_BLOCKS:
            places = _places(device, files or blocks - _KEPT_BLOCKS, apart)
            if _says_stop([one for one in map(_whole, places) if one]):
                return True
    return False


def _whole(place):
    # Number and text of a place; None where it is torn
    if len(place) < _TEXT_AT:
        return None
    number, length = struct.unpack_from("<II", place, _HASH_BYTES)
    text = bytes(place[_TEXT_AT : _TEXT_AT + min(length, _BLOCK_BYTES)])
    digest = hashlib.sha256(bytes(place[_HASH_BYTES:_TEXT_AT]) + text).digest()
    return (number, text) if place[:_HASH_BYTES] == digest[:_HASH_BYTES] else None


def _says_stop(places):
    return bool(places) and max(places)[1] == _STOPPED


def make(device, files=0, apart=0, *, is_shared=False, is_stopped=False):
    # `files` are the blocks of the file system: all, but for what is kept, unless they are given.
    # What is kept is made first: until the boot block is there, nothing has changed for a start.
    files = files or device.ioctl(_NUM_BLOCKS, 0) - _KEPT_BLOCKS
    make_places(device, files, apart, is_shared=is_shared, is_stopped=is_stopped)
    make_files(device, files, apart, is_shared=is_shared)


def make_places(device, files, apart, *, is_shared, is_stopped):
    # One after the other, and a stop in both: a cut leaves it in one of them, or torn where it was,
    # and so does MicroPython's own file system, which it makes where it finds none
    apart = apart or _OLD_APART
    stop = struct.pack("<II", 1, len(_STOPPED)) + _STOPPED
    stop = hashlib.sha256(stop).digest()[:_HASH_BYTES] + stop
    for number, first in ((1, files + apart), (2, files)):
        for at in range(apart):
            block = bytearray(_BLOCK_BYTES)
            if is_stopped and at == 0:
                block[: len(stop)] = stop
            elif is_stopped and is_shared and at == _MARK:
                struct.pack_into("<II", block, 0, number, number ^ _ONES)
            device.writeblocks(first + at, block)
        device.ioctl(_SYNC, 0)


def make_files(device, files, apart, *, is_shared):
    # One cluster a block, one table of 12 bits for each
    table_blocks = -(-(files * 3 // 2 + 3) // _BLOCK_BYTES)
    boot = bytearray(_BLOCK_BYTES)
    boot[: len(_BOOT)] = _BOOT
    fields = (_BLOCK_BYTES, 1, 1, 1, _ROOT_ENTRIES, files, _MEDIA, table_blocks, 63, 255, 0, 0)
    struct.pack_into("<HBHBHHBHHHII", boot, len(_BOOT), *fields)
    boot[36], boot[38] = 0x80, 0x29
    boot[43:62] = b"NO NAME    FAT12   "
    struct.pack_into(_KEPT_FIELDS, boot, _KEPT_AT, files, apart, is_shared)
    boot[-2:] = _SIGNATURE
    device.writeblocks(0, boot)
    empty = bytearray(_BLOCK_BYTES)
    for at in range(1, 1 + table_blocks + _ROOT_ENTRIES * 32 // _BLOCK_BYTES):
        device.writeblocks(at, empty)
    empty[:3] = bytes((_MEDIA, 0xFF, 0xFF))
    device.writeblocks(1, empty)
    device.ioctl(_SYNC, 0)
