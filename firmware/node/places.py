# Finds where the board keeps its texts; needed while it starts, and dropped then.

import struct

from micropython import const

_BLOCK_BYTES = const(512)
# As firmware/prompt/small_fat.py lays them out: the first block of what is kept, how far apart its
# places are and whether each is a sector; one that was made before that was noted has it where the
# file system ends
_MAKER = b"BARNACLE"
_MAKER_AT = const(3)
_BLOCKS_AT = const(19)
_KEPT_AT = const(62)
_KEPT_FIELDS = "<HHH"


def find(name):
    # The two places of a text; the code of only one kind is ever loaded
    import pyb  # noqa: PLC0415  - with what it is at the start

    if hasattr(pyb, "Flash"):
        device = pyb.Flash(start=0)
        block = bytearray(_BLOCK_BYTES)
        device.readblocks(0, block)
        if block[_MAKER_AT : _MAKER_AT + len(_MAKER)] == _MAKER:
            first, apart, is_shared = struct.unpack_from(_KEPT_FIELDS, block, _KEPT_AT)
            if is_shared:
                from node.kept_sectors import Sectors  # noqa: PLC0415  - on demand

                return Sectors(device, first, apart, name)
            from node.kept_blocks import Blocks  # noqa: PLC0415  - on demand

            first = first or struct.unpack_from("<H", block, _BLOCKS_AT)[0]
            return Blocks(device, first, apart, name)
    from node.kept_files import Files  # noqa: PLC0415  - on demand

    return Files(name)
