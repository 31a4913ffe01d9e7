"""DFU files for the boot loader in the ROM of an STM32 (DfuSe), and their place on a card.

Needs no package: `image/build` looks at the files with it, too.
"""

import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from agent.errors import BarnacleError

FOLDER = Path("/usr/share/barnacle/boards")
INDEX = "boards.json"
DFU = ".dfu"
MAX_DFU_BYTES = 4 * 1024 * 1024
# Layout of the file, from ST's UM0391
_PREFIX, _TARGET, _ELEMENT = "<5sBIB", "<6sBI255sII", "<II"
_SUFFIX = struct.Struct("<HHHH3sBI")
_VENDORS = {0x0483, 0xFFFF}


class BadDfu(BarnacleError):
    """A file that no boot loader of an STM32 can be given; the text says why."""


class Element(NamedTuple):
    """One piece of a DFU file and its address in the microcontroller's flash."""

    address: int
    content: bytes


def read_dfu(content: bytes) -> tuple[Element, ...]:
    """Return the pieces of a DFU file for the STM32's own boot loader (DfuSe).

    Raises:
        BadDfu: it is another file, or damaged.
    """
    size = _SUFFIX.size
    if not size <= len(content) <= MAX_DFU_BYTES or not content.startswith(b"DfuSe"):
        raise BadDfu("it is no DfuSe file: of MicroPython's files take the one that ends in .dfu")
    *_, vendor, _dfu, sign, length, crc = _SUFFIX.unpack(content[-size:])
    if sign != b"UFD" or length != size or crc != zlib.crc32(content[:-4]) ^ 0xFFFFFFFF:
        raise BadDfu("it is damaged: its checksum is wrong")
    if vendor not in _VENDORS:
        raise BadDfu(f"it is for the boot loader of vendor {vendor:04x}, not for an STM32")
    try:
        return tuple(_elements(content[:-size]))
    except struct.error as err:
        raise BadDfu("it is damaged: it ends in the middle of a piece") from err


def _elements(content: bytes) -> list[Element]:
    *_, targets = struct.unpack_from(_PREFIX, content)
    at, found = struct.calcsize(_PREFIX), []
    for _ in range(targets):
        *_, count = struct.unpack_from(_TARGET, content, at)
        at += struct.calcsize(_TARGET)
        for _ in range(count):
            address, length = struct.unpack_from(_ELEMENT, content, at)
            at += struct.calcsize(_ELEMENT)
            if at + length > len(content):
                raise struct.error
            found.append(Element(address, content[at : at + length]))
            at += length
    if not found:
        raise BadDfu("it holds nothing to write")
    return found
