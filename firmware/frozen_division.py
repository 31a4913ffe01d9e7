# Divides the flash of a board whose firmware is frozen into MicroPython, once, at its first start:
# `node.division` there. Its file system gets smaller, and what the board keeps gets two places in
# sectors of their own behind it.

import os

import pyb
import small_fat
import vfs
from micropython import const
from node.kept_blocks import Blocks
from node.kept_sectors import Sectors
from node.store import Store, head_of

_NUM_BLOCKS = const(4)
_FILES_BLOCKS = const(32)
_PLACE_BLOCKS = const(32)
_LEAST_BLOCKS = const(96)
_TEXTS = ("configuration", "reflexes")
# What MicroPython and this firmware have put there; the rest is somebody else's, and stays
_OWN_FILES = ("boot.py", "main.py", "README.txt", "pybcdc.inf", "slot_a", "slot_b")
_OWN_ENDINGS = ("_a.bin", "_b.bin", ".mpy", ".new")


def divide(is_paged):
    # `is_paged`: its flash is erased in pieces smaller than a place.
    # Once; a cut on the way leaves a board that starts, and that is stopped if it was; it may cost
    # what else an older firmware kept
    if not hasattr(pyb, "Flash"):
        return
    device = pyb.Flash(start=0)
    if device.ioctl(_NUM_BLOCKS, 0) < _LEAST_BLOCKS or small_fat.is_divided(device):
        return
    if any(not _is_own(name) for name in os.listdir()):
        return
    texts = [(name, Store(1, name).load()) for name in _TEXTS]
    layout = {"is_shared": not is_paged, "is_stopped": small_fat.is_stopped(device)}
    os.chdir("/")
    vfs.umount("/flash")
    small_fat.make_places(device, _FILES_BLOCKS, _PLACE_BLOCKS, **layout)
    for name, text in texts:
        if text:
            places = (Blocks if is_paged else Sectors)(device, _FILES_BLOCKS, _PLACE_BLOCKS, name)
            places.write(places.next(None), head_of(1, text), text)
    small_fat.make_files(device, _FILES_BLOCKS, _PLACE_BLOCKS, is_shared=not is_paged)
    vfs.mount(device, "/flash")
    os.chdir("/flash")


def _is_own(name):
    return name in _OWN_FILES or name.endswith(_OWN_ENDINGS)
