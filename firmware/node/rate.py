# A faster line: agreed on at the old rate, and left again when nothing valid comes at the new one.

import struct
from time import ticks_diff

import frame
from micropython import const

# A byte every 11 us, which is about what the interrupt of a UART can take
_TOP_BAUD = const(921_600)
# The Pi's patience is the same, and a session outlives it
_SILENCE_MS = const(1_000)


class Rate:
    def __init__(self, port):
        self._port = port
        # Whether it is another one than the line began with
        self._is_raised = False

    def answer(self, payload):
        # What it will be from `begin` on, 0 for no
        asked = struct.unpack_from(frame.BAUD_FORMAT, payload, 0)[0]
        self._next = min(asked, _TOP_BAUD) if asked > self._port.baudrate else 0
        return struct.pack(frame.BAUD_FORMAT, self._next)

    def begin(self):
        if self._next:
            self._is_raised = True
            self._port.set_baudrate(self._next)

    def tick(self, now_ms, heard_ms):
        if self._is_raised and ticks_diff(now_ms, heard_ms) >= _SILENCE_MS:
            self._is_raised = False
            self._port.set_baudrate(self._port.baudrate)
