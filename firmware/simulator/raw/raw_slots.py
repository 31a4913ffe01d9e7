# Stands in for two slots of raw flash, in a file: pages of 16 KB that are erased as a whole, bits
# that only go from 1 to 0. The power may fail in the middle of an operation.

import os
import sys

import wires

CLASS = 3
PAGES = 8
_PAGE_BYTES = 16_384
_SLOT_BYTES = PAGES * _PAGE_BYTES
# As much as is written between two moments at which the power may fail
_PIECE_BYTES = 256
_ERASED = b"\xff" * _PIECE_BYTES

_path = sys.argv[7]
try:
    os.stat(_path)
except OSError:
    with open(_path, "wb") as _made:
        for _ in range(2 * _SLOT_BYTES // _PIECE_BYTES):  # noqa: FURB122  - no writelines there
            _made.write(_ERASED)
_flash = open(_path, "r+b", buffering=0)  # noqa: SIM115  - open for the life of the board


def size(_slot):
    return _SLOT_BYTES


def read(slot, at, length):
    _flash.seek(slot * _SLOT_BYTES + at)
    return _flash.read(length)


def written(slot):
    # Up to the last byte that is not erased
    for at in range(_SLOT_BYTES - _PIECE_BYTES, -1, -_PIECE_BYTES):
        piece = read(slot, at, _PIECE_BYTES)
        if piece != _ERASED:
            return at + len(piece.rstrip(b"\xff"))
    return 0


def erase(slot, page):
    pieces = _PAGE_BYTES // _PIECE_BYTES
    fails = wires.flash_operation()
    _flash.seek(slot * _SLOT_BYTES + page * _PAGE_BYTES)
    for _ in range(pieces // 2 if fails else pieces):
        _flash.write(_ERASED)
    if fails:
        wires.restart()


def write(slot, at, data):
    for start in range(0, len(data), _PIECE_BYTES):
        _program(slot, at + start, bytes(data[start : start + _PIECE_BYTES]))


def _program(slot, at, data):
    fails = wires.flash_operation()
    if fails:
        data = data[: len(data) // 2]
    kept = read(slot, at, len(data))
    _flash.seek(slot * _SLOT_BYTES + at)
    _flash.write(bytes([new & old for new, old in zip(data, kept)]))  # noqa: B905  - no strict here
    if fails:
        wires.restart()
