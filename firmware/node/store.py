# What the board keeps over a restart: for each text a file, whole or not there.
#
# Written beside the old one and put in its place in one step. A file that was cut or damaged does
# not bear its own hash and counts as none. A board without flash for it keeps it in memory.

import hashlib
import os

from micropython import const

HASH_BYTES = 8
_CLASS_NONE = const(0)


def digest(text):
    return hashlib.sha256(text).digest()[:HASH_BYTES]


class Store:
    def __init__(self, flash_class, name):
        self.has_flash = flash_class != _CLASS_NONE
        # Whether there was a file at the last load that was not whole
        self.is_damaged = False
        self._name = name + ".bin"
        self._fresh = name + ".new"
        self._text = b""

    def load(self):
        # The text that was saved last, empty when there is none that is whole
        if not self.has_flash:
            return self._text
        try:
            with open(self._name, "rb") as file:
                stored = file.read()
        except OSError:
            return b""
        text = stored[HASH_BYTES:]
        self.is_damaged = digest(text) != stored[:HASH_BYTES]
        return b"" if self.is_damaged else text

    def save(self, text):
        # Raises OSError, and then the old one is still there
        if not self.has_flash:
            self._text = bytes(text)
            return
        with open(self._fresh, "wb") as file:
            file.write(digest(text))
            file.write(text)
        os.rename(self._fresh, self._name)
        if hasattr(os, "sync"):
            os.sync()
