# A configuration on its way to the board: collected piece by piece, then judged as a whole.
#
# Loaded when one is begun: a board that is wired as ever has the memory for other things.

import struct

import frame
from node import entries
from node.calls import Refusal
from node.store import digest


class Upload:
    def __init__(self, length, said):
        if not 0 < length <= frame.CONFIG_LIMIT_BYTES:
            raise Refusal(frame.OUT_OF_RANGE, "1 to %d bytes" % frame.CONFIG_LIMIT_BYTES)
        self.text = bytearray(length)
        self._said = said

    def take(self, arguments):
        at = struct.unpack_from(frame.CONFIG_OFFSET_FORMAT, arguments, 0)[0]
        piece = arguments[4:]
        if at + len(piece) > len(self.text):
            raise Refusal(frame.OUT_OF_RANGE, "beyond the length that was announced")
        self.text[at : at + len(piece)] = piece

    def entries(self, said, board):
        # Raises Unfit, and Refusal where it is not what was announced
        if said != self._said or digest(self.text) != said:
            raise Refusal(frame.BAD_REQUEST, "not what was announced: begin again")
        return entries.complete(entries.read(self.text, board))
