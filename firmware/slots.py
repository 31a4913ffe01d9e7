# Which version of the firmware is started: two slots, each a header and an image. Like boot.py it
# is never updated over the link, so it stays small.
#
# A mark is a byte that is cleared once: flash can do that without erasing. A new version is on
# trial until CONFIRMED; each start on trial takes one of three strikes. What its hash does not
# prove is not started.

import gc
import hashlib
import io
import os
import struct
import sys

SLOTS = 2
# Hash of the image, its length, a number that grows with every update
HEADER = "<32sII"
HEADER_BYTES = 40
READY = 64
STRIKES = (96, 128, 160)
CONFIRMED = 192
REJECTED = 224
IMAGE_AT = 256

# So much may be taken between two collections while the firmware starts
_COLLECT_EVERY_BYTES = 4_096

_FILE = (0x8000,) + (0,) * 9
_FOLDER = (0x4000,) + (0,) * 9

# What was started: the slot, or None for plain files beside this one
running = None
trial = False


class Files:
    # Slots as files of a file system; `CLASS` 1 says how much a power cut may cost. The folder is
    # the one in which boot.py was found: /flash on an STM32, whose / holds nothing.

    CLASS = 1
    PAGES = 1

    def __init__(self, folder=""):
        self._folder = folder or os.getcwd()
        inside = "" if self._folder == "/" else self._folder
        self._paths = [inside + "/slot_a", inside + "/slot_b"]

    def size(self, slot):
        # As large as the free space: what the slot holds now is given back first
        status = os.statvfs(self._folder)
        return status[0] * status[3] + self.written(slot)

    def read(self, slot, at, length):
        try:
            with open(self._paths[slot], "rb") as file:
                file.seek(at)
                return file.read(length)
        except OSError:
            return b""

    def written(self, slot):
        try:
            return os.stat(self._paths[slot])[6]
        except OSError:
            return 0

    def erase(self, slot, _page):
        with open(self._paths[slot], "wb") as file:
            file.write(b"\xff" * IMAGE_AT)

    def write(self, slot, at, data):
        with open(self._paths[slot], "r+b") as file:
            file.seek(at)
            file.write(data)


class Image:
    # A slot as a folder to import from. Its table of files stays in flash and is read anew each
    # time: two kilobytes where it cannot be read as it lies, and five times that taken apart.

    def __init__(self, store, slot):
        self._store = store
        self._slot = slot
        count = struct.unpack("<H", store.read(slot, IMAGE_AT, 2))[0]
        at = IMAGE_AT + 2
        for _ in range(count):
            at += 5 + store.read(slot, at + 4, 1)[0]
        self._files_at = at

    def mount(self, _readonly, _mkfs):
        pass

    def umount(self):
        pass

    def stat(self, path):
        name = path.strip("/").encode()
        table = self._table()
        # The byte before a name is its length, so that only whole names are found
        if bytes([len(name)]) + name in table:
            return _FILE
        if name + b"/" in table:
            return _FOLDER
        raise OSError(2)

    def open(self, path, _mode):
        import deflate  # noqa: PLC0415  - only where an image is really started

        at, size = self._find(path.strip("/").encode())
        gc.collect()
        # What is not packed begins so
        if bytes(self._store.read(self._slot, at, 1)) == b"M":
            return Plain(self._store, self._slot, at, at + size)
        # Bytes are read where they are, anything else would be copied while it grows
        packed = io.BytesIO(bytes(self._store.read(self._slot, at, size)))
        # Unpacked while it is read: the whole of it would not fit beside what it becomes
        return deflate.DeflateIO(packed, deflate.ZLIB)

    def _table(self):
        at = IMAGE_AT + 2
        return self._store.read(self._slot, at, self._files_at - at)

    def _find(self, name):
        # Where that file lies, and its size
        table = self._table()
        file_at = self._files_at
        at = 0
        while at < len(table):
            size, length = struct.unpack_from("<IB", table, at)
            at += 5
            if table[at : at + length] == name:
                return file_at, size
            file_at += size
            at += length
        raise OSError(2)


class Plain(io.IOBase):
    # A file of a slot that is not packed, read as it lies: that takes no memory.

    def __init__(self, store, slot, at, end):
        self._store = store
        self._slot = slot
        self._at = at
        self._end = end

    def readinto(self, buffer):
        size = min(len(buffer), self._end - self._at)
        buffer[:size] = self._store.read(self._slot, self._at, size)
        self._at += size
        return size

    def ioctl(self, _request, _argument):
        return 0


def open_store():
    # Where scripts/flash has found flash of its own for the slots there is a module for it
    try:
        import raw_slots  # type: ignore[import-not-found]  # noqa: PLC0415  - not on every board
    except ImportError:
        return Files()
    return raw_slots


def header(store, slot):
    # Hash, length and number, or None when nothing was ever begun there
    data = store.read(slot, 0, HEADER_BYTES)
    if len(data) < HEADER_BYTES or data == b"\xff" * HEADER_BYTES:
        return None
    return struct.unpack(HEADER, data)


def is_marked(store, slot, at):
    return store.read(slot, at, 1) == b"\0"


def mark(store, slot, at):
    if not is_marked(store, slot, at):
        store.write(slot, at, b"\0")


def is_sound(store, slot):
    # Whether the image is the one that was announced
    announced = header(store, slot)
    if announced is None:
        return False
    digest = hashlib.sha256()
    at = IMAGE_AT
    end = IMAGE_AT + announced[1]
    while at < end:
        piece = store.read(slot, at, min(512, end - at))
        if not piece:
            return False
        digest.update(piece)
        at += len(piece)
    return digest.digest() == announced[0]


def may_start(store, slot):
    if not is_marked(store, slot, READY) or is_marked(store, slot, REJECTED):
        return False
    if not is_marked(store, slot, CONFIRMED) and is_marked(store, slot, STRIKES[-1]):
        return False
    return is_sound(store, slot)


def newest_first(store):
    numbers = [(header(store, slot) or (b"", 0, 0))[2] for slot in range(SLOTS)]
    return (0, 1) if numbers[0] >= numbers[1] else (1, 0)


def choose(store):
    # The slot to start, or None; on trial it costs a strike, which is taken before it can fail
    for slot in newest_first(store):
        if may_start(store, slot):
            on_trial = not is_marked(store, slot, CONFIRMED)
            if on_trial:
                mark(store, slot, next(at for at in STRIKES if not is_marked(store, slot, at)))
            return slot, on_trial
    return None, False


# Of no use once a version runs, until there is an update: a twentieth of what an F411 has
_AT_START = (
    "Files",
    "choose",
    "header",
    "is_marked",
    "is_sound",
    "mark",
    "may_start",
    "newest_first",
    "open_store",
    "start",
)


def forget():
    # Whoever asks for one of them again has this file read again
    for name in _AT_START:
        globals().pop(name, None)


def __getattr__(name):
    if name not in _AT_START:
        raise AttributeError(name)
    own = sys.modules.pop("slots")
    import slots as again  # noqa: PLC0415  - anew

    sys.modules["slots"] = own
    again.Image = Image  # type: ignore[misc]  # ours, not its own
    for one in _AT_START:
        globals()[one] = getattr(again, one)
    return globals()[name]


def start():
    global running, trial
    # Until the loop runs: what is left over while files are read and unpacked goes at once, or what
    # stays would lie all over the memory, with no large piece between
    gc.threshold(_COLLECT_EVERY_BYTES)
    import vfs  # noqa: PLC0415  - only where it is started

    store = open_store()
    running, trial = choose(store)
    if running is not None:
        vfs.mount(Image(store, running), "/firmware")
        sys.path.insert(0, "/firmware")
    forget()
