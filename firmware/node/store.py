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
_HEAD_BYTES = const(12)
# In neither file
_NOWHERE = const(-1)


def digest(text):
    return hashlib.sha256(text).digest()[:HASH_BYTES]


class Store:
    def __init__(self, flash_class, name):
        self.has_flash = flash_class != _CLASS_NONE
        # Whether the last load found a file that is not whole, and none that is
        self.is_damaged = False
        self._names = (name + "_a.bin", name + "_b.bin")
        self._text = b""
        # Of the newest that is whole: its number and its place among the names
        self._number = 0
        self._at = None

    def load(self):
        # The text that was saved last, empty when there is none that is whole
        if not self.has_flash:
            return self._text
        heads = (self._head(0), self._head(1))
        first = 1 if _number_of(heads[1]) > _number_of(heads[0]) else 0
        for at in (first, 1 - first):
            text = self._body(at, heads[at])
            if text is not None:
                self._number, self._at, self.is_damaged = _number_of(heads[at]), at, False
                return text
        self._number, self._at = 0, _NOWHERE
        self.is_damaged = any(head is not None for head in heads)
        return b""

    def save(self, text):
        # Raises OSError, and then the old one is still there
        if not self.has_flash:
            self._text = bytes(text)
            return
        if self._at is None:
            self.load()
        packed = struct.pack(_NUMBER, self._number + 1)
        at = 1 if self._at == 0 else 0
        with open(self._names[at], "wb") as file:
            file.write(_hash(packed, text))
            file.write(packed)
            file.write(text)
        self._number += 1
        self._at = at

    def _head(self, at):
        # None when there is no such file
        try:
            with open(self._names[at], "rb") as file:
                return file.read(_HEAD_BYTES)
        except OSError:
            return None

    def _body(self, at, head):
        # None when it is not whole; one at a time, because memory is short at the start
        if head is None or len(head) < _HEAD_BYTES:
            return None
        with open(self._names[at], "rb") as file:
            file.seek(_HEAD_BYTES)
            text = file.read()
        return text if _hash(head[HASH_BYTES:], text) == head[:HASH_BYTES] else None


def _number_of(head):
    if head is None or len(head) < _HEAD_BYTES:
        return 0
    return struct.unpack_from(_NUMBER, head, HASH_BYTES)[0]


def _hash(packed, text):
    whole = hashlib.sha256(packed)
    whole.update(text)
    return whole.digest()[:HASH_BYTES]
