# Puts in what a MicroPython with the firmware in itself has in flash: the code, and its names.
#
# Apart from `ram.py`: each name of its own would fill the board's table of names before it does.

import gc
import os
import sys

import vfs

_kept = None


def put_in():
    global _kept  # noqa: PLW0603  - it stays for as long as it is measured
    _kept = bytearray(os.stat("rom")[6])
    with open("rom", "rb") as file:
        file.readinto(_kept)
    with open("names") as file:
        for name in file:
            hasattr(sys, name[:-1])
            # Close together
            gc.collect()
    vfs.mount(vfs.VfsRom(memoryview(_kept)), "/rom")
    sys.path.insert(0, "/rom")
