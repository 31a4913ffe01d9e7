"""DFU files for the boot loader of an STM32, made as MicroPython's build makes them (UM0391)."""

import struct
import zlib
from collections.abc import Sequence

from agent.blank.dfu import Element


def dfu_file(elements: Sequence[Element], vendor: int = 0x0483) -> bytes:
    body = b"".join(
        struct.pack("<II", one.address, len(one.content)) + one.content for one in elements
    )
    target = struct.pack("<6sBI255sII", b"Target", 0, 1, b"ST...", len(body), len(elements))
    size = struct.calcsize("<5sBIB") + len(target) + len(body)
    whole = struct.pack("<5sBIB", b"DfuSe", 1, size, 1) + target + body
    whole += struct.pack("<HHHH3sB", 0, 0xDF11, vendor, 0x011A, b"UFD", 16)
    return whole + struct.pack("<I", zlib.crc32(whole) ^ 0xFFFFFFFF)
