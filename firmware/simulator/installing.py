# Puts the firmware onto a new board as scripts/flash does it, with the board's own code.

import os
import sys

import small_fat
import vfs

_PIECE_BYTES = 4_096


def lay_out(device, part, *, is_stopped=False):
    # One that has the firmware in its MicroPython begins with the file system of that
    if part["is_frozen"]:
        vfs.VfsFat.mkfs(device)
    elif part["slots"] == "files":
        small_fat.make(device, is_stopped=is_stopped)
    else:
        is_shared = part["slots"] == "words"
        small_fat.make(device, 32, 32, is_shared=is_shared, is_stopped=is_stopped)


def install(folder):
    # Into the working directory; the programs first: they know where the version goes
    names = sorted(os.listdir(folder), key=lambda name: name == "slot_a")
    for name in names:
        with open(folder + "/" + name, "rb") as source:
            if name == "slot_a" and "raw_slots.mpy" in names:
                _put_into_slot(source)
                continue
            with open(name, "wb") as target:
                copy(source, target.write)


def forget():
    # What is imported next sees the flash as it is then
    for name in ("raw_slots", "flash_words"):
        sys.modules.pop(name, None)


def copy(source, write):
    piece = source.read(_PIECE_BYTES)
    while piece:
        write(piece)
        piece = source.read(_PIECE_BYTES)


def _put_into_slot(source):
    import raw_slots  # noqa: PLC0415  - only where the board has it

    at = 0

    def write(piece):
        nonlocal at
        raw_slots.write(0, at, piece)
        at += len(piece)

    copy(source, write)
    forget()
