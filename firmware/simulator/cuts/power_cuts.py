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
import installing
import machine
import pyb
import small_fat
import vfs
import wires
import world
from node.store import Store
from registers import FlashAddresses, Registers

_FOLDER = sys.argv[1]
with open(_FOLDER + "/part.json") as _file:
    _PART = json.load(_file)
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


def _power_on(path):
    # With the flash as it is, and nothing mounted
    board = CutBoard(path, _PART)
    pyb.Flash = lambda **_where: board
    if _PART["flash_kb"]:
        machine.mem32 = machine.mem16 = Registers(path, _PART["flash_kb"], {})
        sys.modules["uctypes"] = FlashAddresses(machine.mem32)
    installing.forget()
    return board


def _put_on(board):
    vfs.mount(board, "/flash")
    os.chdir("/flash")


def _take_off(board):
    board.is_off = True
    os.chdir("/")
    try:
        vfs.umount("/flash")
    except OSError:  # cut while its file system was being made
        pass
    gc.collect()


def _copy(source, target):
    with open(source, "rb") as read, open(target, "wb") as write:
        installing.copy(read, write.write)


def _installed(path):
    # A board as scripts/flash leaves it, or at its first start, configured twice and stopped and
    # cleared once
    board = _power_on(path)
    installing.lay_out(board, _PART)
    _put_on(board)
    if _PART["is_frozen"]:
        _stopped_before()
        _copy(path, path + _BEFORE["divide"])
        _divide()
    else:
        installing.install(_FOLDER + "/installed")
    for text in (_NEW, _OLD):
        _kept("configuration").save(text)
    for text in (_STOPPED, b""):
        _kept("stop").save(text)
    _take_off(board)


def _laid_out_otherwise(path):
    # The same board with MicroPython's own file system, and with an older one of scripts/flash
    for action, make in (("format", vfs.VfsFat.mkfs), ("reformat", small_fat.make)):
        _copy(path, path + _BEFORE[action])
        board = _power_on(path + _BEFORE[action])
        make(board)
        _put_on(board)
        _stopped_before()
        _take_off(board)


def _stopped_before():
    # By an older firmware, for the second time
    _kept("configuration").save(_OLD)
    for text in (_STOPPED, b"", _STOPPED):
        _kept("stop").save(text)


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

    store = slots.open_store()
    digest, length, number = slots.header(store, 0)
    world.erases = wires.operations = 0
    for page in range(store.PAGES):
        store.erase(1, page)
    store.write(1, 0, struct.pack(slots.HEADER, digest, length, number + 1))
    for at in range(0, length, _PIECE_BYTES):
        size = min(_PIECE_BYTES, length - at)
        piece = store.read(0, slots.IMAGE_AT + at, size)
        store.write(1, slots.IMAGE_AT + at, piece)
    slots.mark(store, 1, slots.READY)
    slots.choose(store)
    slots.mark(store, 1, slots.CONFIRMED)


def _divide():
    # The first start of a board whose firmware is frozen in
    import frozen_division  # noqa: PLC0415  - as above

    frozen_division.divide(_PART["slots"] == "blocks")


def _format():
    # What scripts/flash runs at the prompt before it copies anything
    device = pyb.Flash(start=0)
    is_stopped = small_fat.is_stopped(device)
    os.chdir("/")
    vfs.umount("/flash")
    installing.lay_out(device, _PART, is_stopped=is_stopped)
    _put_on(device)


_ACTIONS = {
    "commit": _commit,
    "stop": _stop,
    "update": _update,
    "divide": _divide,
    "format": _format,
    "reformat": _format,
}
# The flash before these, where it is not one that is in use
_BEFORE = {"divide": ".new", "format": ".files", "reformat": ".older"}


def _starts(action):
    # The files that MicroPython runs are as they were, and a version is found; where the flash was
    # being divided, that is done again
    import slots  # noqa: PLC0415  - from the board's own sources

    if _PART["is_frozen"] or action in _BEFORE:
        (_ACTIONS[action] if action in _BEFORE else _divide)()
        return True
    for name in os.listdir(_FOLDER + "/installed"):
        if name.startswith("slot_"):
            continue
        digests = []
        for folder in (_FOLDER + "/installed/", "/flash/"):
            with open(folder + name, "rb") as file:
                digests.append(hashlib.sha256(file.read()).digest())
        if digests[0] != digests[1]:
            return False
    return slots.choose(slots.open_store())[0] is not None


def _look(found, action):
    # After the cut: what a start finds
    try:
        if not _starts(action):
            return
    except OSError:
        return
    found["starts"] += 1
    text = _kept("configuration").load()
    found["configuration_old"] += text == _OLD
    found["configuration_new"] += text == _NEW
    stop = _kept("stop")
    found["stopped"] += stop.load() == _STOPPED or stop.is_torn()


def _try(action, work, operations):
    # Cut in that operation; negative: not at all
    _copy(work + _BEFORE.get(action, ".base"), work)
    board = _power_on(work)
    _put_on(board)
    try:
        world.erases = wires.operations = 0
        wires.operations_left = -1 if operations < 0 else operations
        _ACTIONS[action]()
    except (wires.PowerLost, OSError):
        pass
    wires.operations_left = -1
    _take_off(board)


def _tried(action, work, every):
    _try(action, work, -1)
    found = {"action": action, "erases": world.erases, "operations": wires.operations, "cuts": 0}
    names = ("starts", "configuration_old", "configuration_new", "stopped")
    found.update(dict.fromkeys(names, 0))
    # The last cut comes after all of them
    last = wires.operations
    for at in list(range(0, last, every)) + [last]:  # noqa: RUF005  - MicroPython has no [*range]
        _try(action, work, at)
        found["cuts"] += 1
        board = _power_on(work)
        try:
            _put_on(board)
        except OSError:
            if not _PART["is_frozen"] and action not in _BEFORE:
                continue
            # What MicroPython does with a file system that is none
            vfs.VfsFat.mkfs(board)
            _put_on(board)
        _look(found, action)
        _take_off(board)
    return found


def main():
    sys.path.append("/flash")
    work = _FOLDER + "/flash.bin"
    _installed(work)
    _copy(work, work + ".base")
    if not _PART["is_frozen"]:
        _laid_out_otherwise(work)
    for action in sys.argv[3:]:
        sys.stdout.write(json.dumps(_tried(action, work, int(sys.argv[2]))) + "\n")


main()
