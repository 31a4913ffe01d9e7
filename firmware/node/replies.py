# The last answers by request id, so that a repeated request is answered and not run again.
#
# All memory is taken once; an answer lives in its slot until the slot is claimed again.

import struct

import frame
from micropython import const

_SLOTS = const(16)
_HEADER_BYTES = const(3)


class Replies:
    def __init__(self):
        # An answer is built in its slot: request id, code, result
        whole = memoryview(bytearray(_SLOTS * frame.PAYLOAD_LIMIT_BYTES))
        size = frame.PAYLOAD_LIMIT_BYTES
        self.slots = [whole[at * size : at * size + size] for at in range(_SLOTS)]
        self._sizes = [0] * _SLOTS
        self._ids = [-1] * _SLOTS
        self._next = 0

    def clear(self):
        for slot in range(_SLOTS):
            self._ids[slot] = -1

    def find(self, request_id):
        # Nearly always it is a new one, which the list itself finds out faster
        if request_id not in self._ids:
            return -1
        for slot in range(_SLOTS):
            if self._ids[slot] == request_id:
                return slot
        return -1

    def claim(self, is_busy):
        # The oldest slot that is not waiting for an acknowledgement; the window is half as large
        # as the cache, so there always is one.
        slot = self._next
        while is_busy(slot):
            slot = (slot + 1) % _SLOTS
        self._next = (slot + 1) % _SLOTS
        self._ids[slot] = -1
        return slot

    def fill(self, slot, request_id, code, result_bytes):
        struct.pack_into(frame.ANSWER_FORMAT, self.slots[slot], 0, request_id, code)
        self._sizes[slot] = _HEADER_BYTES + result_bytes
        self._ids[slot] = request_id

    def payload(self, slot):
        return self.slots[slot][: self._sizes[slot]]

    def size(self, slot):
        return self._sizes[slot]
