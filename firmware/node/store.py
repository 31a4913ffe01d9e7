# What the board keeps over a restart: for each text two files, written in turn, each with a number
# that grows. The newest that bears its own hash counts, so one that was cut leaves the one before.
# Nothing is renamed: on FAT that is unlink and then rename, with nothing there in between. A board
# without flash for it keeps the text in memory.

import hashlib
import struct

from micropython import const

HASH_BYTES = 8
_CLASS_NONE = const(0)
_NUMBER = "<I"
_NUMBER_BYTES = const(4)


def digest(text):
    return hashlib.sha256(text).digest()[:HASH_BYTES]


class Store:
    def __init__(self, flash_class, name):
        self.has_flash = flash_class != _CLASS_NONE
        # Whether the last load found a file that is not whole, and none that is
        self.is_damaged = False
        self._names = (name + "_a.bin", name + "_b.bin")
        self._text = b""

    def load(self):
        # The text that was saved last, empty when there is none that is whole
        return self._newest()[1] if self.has_flash else self._text

    def save(self, text):
        # Raises OSError, and then the old one is still there
        if not self.has_flash:
            self._text = bytes(text)
            return
        number, _, at = self._newest()
        packed = struct.pack(_NUMBER, number + 1)
        with open(self._names[1 - at], "wb") as file:
            file.write(digest(packed + text))
            file.write(packed)
            file.write(text)

    def _newest(self):
        # Its number, its text, and which of the two it is
        found = (0, b"", 1)
        damaged = False
        for at in range(2):
            try:
                with open(self._names[at], "rb") as file:
                    stored = file.read()
            except OSError:
                continue
            body = stored[HASH_BYTES:]
            if len(body) < _NUMBER_BYTES or digest(body) != stored[:HASH_BYTES]:
                damaged = True
                continue
            number = struct.unpack_from(_NUMBER, body, 0)[0]
            if number > found[0]:
                found = (number, body[_NUMBER_BYTES:], at)
        self.is_damaged = damaged and not found[0]
        return found
