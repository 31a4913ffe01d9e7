# Stands in for two slots of raw flash while memory is measured: slot 0 is a file, slot 1 is empty.

CLASS = 3
PAGES = 1

_file = open("slot_a", "rb")  # noqa: SIM115  - open for as long as it is measured


def size(_slot):
    return 131_072


def read(slot, at, length):
    if slot:
        return b"\xff" * length
    _file.seek(at)
    return _file.read(length)


def written(_slot):
    return 0


def erase(_slot, _page):
    pass


def write(_slot, _at, _data):
    pass
