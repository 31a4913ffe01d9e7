# What the board keeps over a restart: for each text two places, written in turn, each with a number
# that grows. The newest that bears its own hash counts, so one that was cut leaves the one before.
#
# A board that scripts/flash has formatted has blocks for it behind its file system, each place in a
# sector of its own: a save is one erase, and neither what was there before nor a file is at risk.
# Elsewhere the places are files. Nothing is renamed, since on FAT that is unlink and then rename,
# with nothing there in between. A board that has no flash for it keeps the text in memory.

import hashlib
import struct

from micropython import const

HASH_BYTES = 8
_CLASS_NONE = const(0)
# Number and length
_FIELDS = "<II"
_HEAD_BYTES = const(16)
# In neither place
_NOWHERE = const(-1)


def digest(text):
    return hashlib.sha256(text).digest()[:HASH_BYTES]


class Store:
    def __init__(self, flash_class, name):
        self.has_flash = flash_class != _CLASS_NONE
        # Whether the last load found a place that is not whole, and none that is
        self.is_damaged = False
        self._places = _found(name, self.has_flash)
        self._text = b""
        # Of the newest that is whole: its number and its place
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
        self.is_damaged = _is_written(heads[0]) or _is_written(heads[1])
        return b""

    def is_torn(self):
        # Whether either place was being written when the power failed
        if self.has_flash:
            for at in range(2):
                head = self._head(at)
                if _is_written(head) and self._body(at, head) is None:
                    return True
        return False

    def save(self, text):
        # Raises OSError, and then the old one is still there
        if not self.has_flash:
            self._text = bytes(text)
            return
        if self._at is None:
            self.load()
        at = self._places.next(self._at)
        self._places.write(at, head_of(self._number + 1, text), text)
        self._number += 1
        self._at = at

    def _head(self, at):
        return self._places.read(at, 0, _HEAD_BYTES)

    def _body(self, at, head):
        # None when it is not whole; one at a time, because memory is short at the start
        if head is None or len(head) < _HEAD_BYTES or not any(head):
            return None
        length = struct.unpack_from(_FIELDS, head, HASH_BYTES)[1]
        # Longer than any: what an erased place says, and too large for a read
        if length >> 16:
            return None
        text = self._places.read(at, _HEAD_BYTES, length)
        return text if _hash(head[HASH_BYTES:], text) == head[:HASH_BYTES] else None


def _found(name, has_flash):
    if not has_flash:
        return None
    from node import places  # noqa: PLC0415  - loaded while the board starts, and dropped then

    return places.find(name)


def head_of(number, text):
    # What stands before a text
    packed = struct.pack(_FIELDS, number, len(text))
    return _hash(packed, text) + packed


def _is_written(head):
    # A place that was made and never used bears zeros; one that was erased bears ones
    return head is not None and any(head)


def _number_of(head):
    if head is None or len(head) < _HEAD_BYTES:
        return 0
    return struct.unpack_from(_FIELDS, head, HASH_BYTES)[0]


def _hash(packed, text):
    whole = hashlib.sha256(packed)
    whole.update(text)
    return whole.digest()[:HASH_BYTES]
