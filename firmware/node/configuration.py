# The configuration: what is wired where, sent by the Pi as a whole, kept by the board.
#
# It arrives in pieces, is judged as a whole, put in place with every output safe, and stored. What
# is refused changes nothing but that: the old one is in force. The same one again changes nothing.

import gc
import struct
import sys

import frame
from micropython import const
from node.calls import AT, Refusal, need
from node.pins import Unfit
from node.store import HASH_BYTES, digest
from node.unload import COLLECT_EVERY_BYTES, unload

# While one is judged and put in place: what stays lies close together, and leaves a large piece
_CAREFUL_BYTES = const(1_024)
_NONE = bytes(HASH_BYTES)
_CHUNK_BYTES = const(200)
_JUDGES = ("upload", "entries", "wiring")
# Writing a small file on 16 KB sectors that are erased first
_WRITE_BUSY_MS = const(2_000)


class Configuration:
    # `store` keeps the text. The others come by `attach`, because the pins are made of the entries.

    def __init__(self, board, store):
        self.hash = _NONE
        self._board = board
        self._store = store
        # What has arrived of the next one, None when none was begun
        self._upload = None

    def attach(self, pins, calls, system):
        self._pins = pins
        self._calls = calls
        self._system = system

    def stored_entries(self):
        # For the start of the board: none where nothing usable is stored
        text = self._store.load()
        try:
            found = self._read_entries(text) if text else ()
        except Unfit:
            return ()
        if found:
            self.hash = digest(text)
        return found

    def forget(self):
        # What was stored could not be put in place
        self.hash = _NONE

    def handlers(self):
        return {
            frame.METHOD_CONFIG_BEGIN: self._begin,
            frame.METHOD_CONFIG_WRITE: self._write,
            frame.METHOD_CONFIG_COMMIT: self._commit,
            frame.METHOD_CONFIG_READ: self._read,
        }

    def begin_session(self, _is_open):
        self._upload = None

    def _begin(self, arguments, _answer):
        from node.upload import Upload  # noqa: PLC0415  - loaded when it is needed

        need(arguments, 4 + HASH_BYTES)
        self._upload = None  # before there are two of them
        self._upload = Upload(*struct.unpack_from(frame.CONFIG_BEGIN_FORMAT, arguments, 0))
        _unload()
        return 0

    def _write(self, arguments, _answer):
        need(arguments, 4)
        self._begun().take(arguments)
        return 0

    def _commit(self, arguments, _answer):
        need(arguments, HASH_BYTES)
        gc.threshold(_CAREFUL_BYTES)
        try:
            return self._put(bytes(arguments[:HASH_BYTES]))
        finally:
            gc.threshold(COLLECT_EVERY_BYTES)

    def _put(self, said):
        if said == self.hash:
            self._upload = None
            return 0
        upload = self._begun()
        self._upload = None
        try:
            wanted = upload.entries(said, self._board)
            # The code that judges goes before anything is made that stays
            text, upload = upload.text, None
            gc.collect()
            self._replace(wanted)
        except Unfit as unfit:
            raise Refusal(frame.OUT_OF_RANGE, str(unfit))  # noqa: B904  - MicroPython keeps no causes
        self._system.announce_busy(_WRITE_BUSY_MS)
        try:
            self._store.save(text)
        except (OSError, MemoryError):
            self._put_back()
            raise Refusal(frame.IO, "the flash did not take it")  # noqa: B904  - as above
        self.hash = said
        return 0

    def _read(self, arguments, answer):
        need(arguments, 4)
        offset = struct.unpack_from(frame.CONFIG_OFFSET_FORMAT, arguments, 0)[0]
        text = b"" if self.hash == _NONE else self._store.load()
        if offset > len(text):
            raise Refusal(frame.OUT_OF_RANGE, "offset beyond the configuration")
        piece = text[offset : offset + _CHUNK_BYTES]
        struct.pack_into("<I", answer, AT, len(text))
        answer[AT + 4 : AT + 4 + len(piece)] = piece
        return 4 + len(piece)

    def _begun(self):
        if self._upload is None:
            raise Refusal(frame.BAD_REQUEST, "nothing was begun")
        return self._upload

    def _replace(self, wanted):
        # Raises Unfit, with the old ones back in place.
        # Whoever watches or holds a pin begins anew, as in a new session
        is_open = True
        self._calls.begin_session(is_open)
        try:
            self._pins.apply(wanted)
        except Unfit:
            self._put_back()
            raise
        finally:
            unload("pin_table")
            unload("wiring")

    def _put_back(self):
        # Those in force; they were judged before they were stored. Where that fails, of memory
        # above all, no pin is there, and the Pi has to know
        before, self.hash = self.hash, _NONE
        self._pins.apply(() if before == _NONE else self._read_entries(self._store.load()))
        self.hash = before

    def _read_entries(self, text):
        from node import entries  # noqa: PLC0415  - loaded when it is needed

        _unload()
        return entries.complete(entries.read(text, self._board))


def _unload():
    # Judging is rare: its code goes when the last who uses it has gone
    sys.modules.pop("kinds", None)
    for name in _JUDGES:
        unload(name)
