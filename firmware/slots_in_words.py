# Slots of flash that no file system reaches, on an STM32F4: `raw_slots` of firmware/slots.py there.
#
# Slot 0 is the large sector behind the small ones: on a part of 512 KB, MicroPython's file system
# has a quarter of it, which scripts/flash leaves to the slot. Its last 4 KB are for words to be
# tried on. Slot 1 is the last sector of a part of 1 MB, which MicroPython does not reach.

import machine
import uctypes
from micropython import const

CLASS = 3
PAGES = 1

# Address, bytes and number of the sector
SECTORS = ((0x08010000, 0xF000, 4), (0x080E0000, 0x20000, 11))
# Where the part says how many kilobytes of flash it has
_FLASH_KB = const(0x1FFF7A22)
_ALL_KB = const(1024)


def size(slot):
    return SECTORS[slot][1] if slot == 0 or machine.mem16[_FLASH_KB] == _ALL_KB else 0


def read(slot, at, length):
    # Where it lies, with no copy of it in memory
    length = min(length, size(slot) - at)
    return uctypes.bytearray_at(SECTORS[slot][0] + at, length) if length > 0 else b""


def __getattr__(name):
    # What only an update needs takes memory only then
    if name not in ("written", "erase", "write"):
        raise AttributeError(name)
    import flash_words  # noqa: PLC0415  - on demand

    return getattr(flash_words, name)
