# Cuts the power in every operation of a board's flash while it writes, and looks at what is left.
#
# The firmware's own code writes: the store, and the slots of an update. Arguments: a folder with
# part.json and installed/, and the actions to try. A line of JSON for each action.

import gc
import hashlib
import json
import os
import struct
import sys

import flash
import pyb
import small_fat
import vfs
import wires
import world
from node.store import Store

_FOLDER = sys.argv[1]
_CLASS_FAT = 1
_OLD = b'{"pins":[{"kind":"output","name":"pump","pin":"PA8"}],"v":1}' * 12
_NEW = b'{"pins":[{"kind":"output","name":"fan","pin":"PA9"}],"v":1}' * 14
_STOPPED = b"stopped"
_PIECE_BYTES = 2_048


class CutBoard(flash.Flash):
    # Once its power is gone it does nothing any more, whatever a file that is closed late asks

    def __init__(self, path, part):
        super().__init__(path, part, lambda _level: None)
        self.is_off = False

    def writeblocks(self, block, buffer):
        if not self.is_off:
            super().writeblocks(block, buffer)

    def flush(self):
        if not self.is_off:
            super().flush()


def _put_on(board):
    pyb.Flash = lambda **_where: board
    vfs.mount(board, "/flash")
    os.chdir("/flash")


def _take_off(board):
    board.is_off = True
    os.chdir("/")
    vfs.umount("/flash")
    gc.collect()


def _copy(source, target):
    with open(source, "rb") as read, open(target, "wb") as write:
        piece = read.read(4096)
        while piece:
            write.write(piece)
            piece = read.read(4096)


def _installed(part, path):
    # A board as scripts/flash leaves it, configured twice and stopped and cleared once
    board = CutBoard(path, part)
    small_fat.make(board)
    _put_on(board)
    for name in os.listdir(_FOLDER + "/installed"):
        _copy(_FOLDER + "/installed/" + name, "/flash/" + name)
    for text in (_NEW, _OLD):
        _kept("configuration").save(text)
    for text in (_STOPPED, b""):
        _kept("stop").save(text)
    _take_off(board)


def _kept(name):
    return Store(_CLASS_FAT, name)


def _commit():
    store = _kept("configuration")
    store.load()
    world.erases = wires.operations = 0
    store.save(_NEW)


def _stop():
    store = _kept("stop")
    store.load()
    world.erases = wires.operations = 0
    store.save(_STOPPED)


def _update():
    # The image that runs, once more into the other slot, then on trial and confirmed
    import slots  # noqa: PLC0415  - from the board's own sources

    store = slots.Files("/flash")
    digest, length, number = slots.header(store, 0)
    world.erases = wires.operations = 0
    store.erase(1, 0)
    store.write(1, 0, struct.pack(slots.HEADER, digest, length, number + 1))
    for at in range(0, length, _PIECE_BYTES):
        size = min(_PIECE_BYTES, length - at)
        piece = store.read(0, slots.IMAGE_AT + at, size)
        store.write(1, slots.IMAGE_AT + at, piece)
    slots.mark(store, 1, slots.READY)
    slots.choose(store)
    slots.mark(store, 1, slots.CONFIRMED)


_ACTIONS = {"commit": _commit, "stop": _stop, "update": _update}


def _starts():
    # The files that MicroPython runs are as they were, and a version is found
    import slots  # noqa: PLC0415  - from the board's own sources

    for name in os.listdir(_FOLDER + "/installed"):
        if name.startswith("slot_"):
            continue
        digests = []
        for folder in (_FOLDER + "/installed/", "/flash/"):
            with open(folder + name, "rb") as file:
                digests.append(hashlib.sha256(file.read()).digest())
        if digests[0] != digests[1]:
            return False
    return slots.choose(slots.Files("/flash"))[0] is not None


def _look(found):
    # After the cut: what a start finds
    try:
        if not _starts():
            return
    except OSError:
        return
    found["starts"] += 1
    text = _kept("configuration").load()
    found["configuration_old"] += text == _OLD
    found["configuration_new"] += text == _NEW
    stop = _kept("stop")
    found["stopped"] += stop.load() == _STOPPED or stop.is_torn()


def _try(action, part, work, operations):
    # Cut in that operation; negative: not at all
    _copy(work + ".base", work)
    board = CutBoard(work, part)
    _put_on(board)
    try:
        wires.operations_left = -1 if operations < 0 else operations
        _ACTIONS[action]()
    except (wires.PowerLost, OSError):
        pass
    wires.operations_left = -1
    _take_off(board)


def _tried(action, part, work, every):
    _try(action, part, work, -1)
    found = {"action": action, "erases": world.erases, "operations": wires.operations, "cuts": 0}
    names = ("starts", "configuration_old", "configuration_new", "stopped")
    found.update(dict.fromkeys(names, 0))
    for at in range(0, wires.operations, every):
        _try(action, part, work, at)
        found["cuts"] += 1
        board = CutBoard(work, part)
        try:
            _put_on(board)
        except OSError:
            continue
        _look(found)
        _take_off(board)
    return found


def main():
    with open(_FOLDER + "/part.json") as file:
        part = json.load(file)
    work = _FOLDER + "/flash.bin"
    _installed(part, work + ".base")
    for action in sys.argv[3:]:
        sys.stdout.write(json.dumps(_tried(action, part, work, int(sys.argv[2]))) + "\n")


main()
