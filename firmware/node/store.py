# What the board keeps over a restart: one file, whole or not there.
#
# Written beside the old one and put in its place in one step. A file that was cut or damaged does
# not bear its own hash and counts as none. A board without flash for it keeps it in memory.

import hashlib
import os

from micropython import const

_NAME = "configuration.bin"
_FRESH = "configuration.new"
HASH_BYTES = 8
_CLASS_NONE = const(0)


def digest(text):
    return hashlib.sha256(text).digest()[:HASH_BYTES]


class Store:
    def __init__(self, flash_class):
        self._has_flash = flash_class != _CLASS_NONE
        self._text = b""

    def load(self):
        # The text that was saved last, empty when there is none that is whole
        if not self._has_flash:
            return self._text
        try:
            with open(_NAME, "rb") as file:
                stored = file.read()
        except OSError:
            return b""
        text = stored[HASH_BYTES:]
        return text if digest(text) == stored[:HASH_BYTES] else b""

    def save(self, text):
        # Raises OSError, and then the old one is still there
        if not self._has_flash:
            self._text = bytes(text)
            return
        with open(_FRESH, "wb") as file:
            file.write(digest(text))
            file.write(text)
        os.rename(_FRESH, _NAME)
        if hasattr(os, "sync"):
            os.sync()
