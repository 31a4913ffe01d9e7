# The codec of frame.py with its two loops over bytes as machine code: a call spends a third of its
# time in them otherwise. The same tests hold for both.

from array import array

import frame
import micropython
from micropython import const

# As in frame.py, which a test holds against this
_RAW_LIMIT_BYTES = const(248)
# What `_unstuff` keeps between two calls
_LENGTH = const(0)
_LEFT = const(1)
_BLOCKS = const(2)


@micropython.viper
def _unstuff(data: ptr8, start: int, stop: int, raw: ptr8, state: ptr32) -> int:  # noqa: F821  - types of viper
    # Up to the next delimiter: returns the position behind it, negative, or `stop`
    length = state[0]
    left = state[1]
    blocks = state[2]
    ended = 0
    while start < stop and ended == 0:
        byte = data[start]
        start += 1
        if byte == 0:
            ended = 1
        elif length <= _RAW_LIMIT_BYTES:
            if left:
                raw[length] = byte
                length += 1
                left -= 1
            else:
                left = byte - 1
                if blocks:
                    raw[length] = 0
                    length += 1
                blocks = 1
    state[0] = length
    state[1] = left
    state[2] = blocks
    return 0 - start if ended else start


@micropython.viper
def _stuff(raw: ptr8, length: int, wire: ptr8) -> int:  # noqa: F821  - types of viper
    wire[0] = 0
    code_at = 1
    at = 0
    while at < length:
        byte = raw[at]
        if byte:
            wire[at + 2] = byte
        else:
            wire[code_at] = at + 2 - code_at
            code_at = at + 2
        at += 1
    wire[code_at] = length + 2 - code_at
    wire[length + 2] = 0
    return length + 3


class Encoder(frame.Encoder):
    stuff = staticmethod(_stuff)


class Decoder(frame.Decoder):
    def __init__(self, nonce=0):
        super().__init__(nonce)
        self._state = array("i", (0, 0, 0))

    def take(self, data, start, stop):
        state = self._state
        self.complete = False
        while start < stop:
            start = _unstuff(data, start, stop, self._raw, state)
            if start >= 0:
                break
            start = -start
            self._blocks = state[_BLOCKS] != 0
            self._finish(state[_LENGTH], state[_LEFT])
            state[_LENGTH] = state[_LEFT] = state[_BLOCKS] = 0
            if self.complete:
                break
        return start
