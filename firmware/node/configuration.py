# The configuration: what is wired where, sent by the Pi as a whole, kept by the board.
#
# It arrives in pieces, is judged as a whole, put in place with every output safe, and stored. What
# is refused changes nothing but that: the old one is in force. The same one again changes nothing.

import struct

import frame
from micropython import const
from node import entries
from node.calls import AT, Refusal, need
from node.store import HASH_BYTES, digest

_NONE = bytes(HASH_BYTES)
_CHUNK_BYTES = const(200)
# Writing a small file on 16 KB sectors that are erased first
_WRITE_BUSY_MS = const(2_000)


class Configuration:
    # `store` keeps the text. The others come by `attach`, because the pins are made of the entries.

    def __init__(self, board, store):
        self.hash = _NONE
        self._board = board
        self._store = store
        self._pins = None
        self._calls = None
        self._system = None
        # What has arrived of the next one, None when none was begun
        self._coming = None
        self._coming_hash = _NONE

    def attach(self, pins, calls, system):
        self._pins = pins
        self._calls = calls
        self._system = system

    def stored_entries(self):
        # For the start of the board: none where nothing usable is stored
        text = self._store.load()
        if not text:
            return ()
        try:
            found = entries.read(text, self._board)
        except entries.Unfit:
            return ()
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
        self._coming = None

    def _begin(self, arguments, _answer):
        need(arguments, 4 + HASH_BYTES)
        length, said = struct.unpack_from(frame.CONFIG_BEGIN_FORMAT, arguments, 0)
        if not 0 < length <= frame.CONFIG_LIMIT_BYTES:
            raise Refusal(frame.OUT_OF_RANGE, "1 to %d bytes" % frame.CONFIG_LIMIT_BYTES)
        self._coming = None  # before there are two of them
        self._coming = bytearray(length)
        self._coming_hash = said
        return 0

    def _write(self, arguments, _answer):
        need(arguments, 4)
        at = struct.unpack_from(frame.CONFIG_OFFSET_FORMAT, arguments, 0)[0]
        piece = arguments[4:]
        coming = self._begun()
        if at + len(piece) > len(coming):
            raise Refusal(frame.OUT_OF_RANGE, "beyond the length that was announced")
        coming[at : at + len(piece)] = piece
        return 0

    def _commit(self, arguments, _answer):
        need(arguments, HASH_BYTES)
        said = bytes(arguments[:HASH_BYTES])
        if said == self.hash:
            self._coming = None
            return 0
        coming = self._begun()
        if said != self._coming_hash or digest(coming) != said:
            raise Refusal(frame.BAD_REQUEST, "not what was announced: begin again")
        self._coming = None
        try:
            self._replace(entries.read(coming, self._board))
        except entries.Unfit as unfit:
            raise Refusal(frame.OUT_OF_RANGE, str(unfit))  # noqa: B904  - MicroPython keeps no causes
        self._system.announce_busy(_WRITE_BUSY_MS)
        try:
            self._store.save(coming)
        except OSError:
            self._pins.apply(self._current())
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
        if self._coming is None:
            raise Refusal(frame.BAD_REQUEST, "nothing was begun")
        return self._coming

    def _replace(self, wanted):
        # Raises Unfit, with the old ones back in place
        # Whoever watches or holds a pin begins anew, as in a new session
        is_open = True
        self._calls.begin_session(is_open)
        try:
            self._pins.apply(wanted)
        except entries.Unfit:
            self._pins.apply(self._current())
            raise

    def _current(self):
        # Those in force; they were judged before they were stored
        if self.hash == _NONE:
            return ()
        return entries.read(self._store.load(), self._board)
