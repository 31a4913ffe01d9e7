"""Frames to throw at a board, by the fault in their name. None but `writes` may move a pin."""

import random
import struct
from collections.abc import Callable

from agent.link import frame as codec
from agent.link.frame import Encoder

GPIO_WRITE = 16
GPIO_READ = 17
# The link's own methods that make outputs safe, clear a safe state or restart the board
_MOVING = frozenset({GPIO_WRITE, codec.METHOD_SAFE, 4, 12, 13})
# The kinds that end a session, stop everything, or change the speed of the line
_ENDING = frozenset({codec.HELLO, codec.ESTOP, 9})
_KINDS = tuple(kind for kind in range(32) if kind not in _ENDING)
_METHODS = 256
_MOST_PAYLOAD_BYTES = 24
_CREDIT = 255


class Forge:
    """Makes frames for one session with a board.

    Args:
        moving: methods that may move an output when they are asked well.
    """

    def __init__(self, chance: random.Random, moving: frozenset[int]) -> None:
        self.chance = chance
        self._harmless = tuple(
            one for one in range(_METHODS) if one not in moving and one not in _MOVING
        )
        self._encoder = Encoder()
        # A sound request that would switch an output, in this session and in the one before
        self.good = self.stale = b""

    def begin(self, nonce: int, pin: bytes) -> None:
        """A new session; `pin` is the one that the spoiled requests would switch."""
        self.stale, self._encoder.nonce = self.good or b"\0\0", nonce
        self.good = self.write(pin, 1, self.chance.randrange(4), 7)

    def write(self, pin: bytes, value: int, sequence: int, request_id: int) -> bytes:
        """The one request that may switch a pin."""
        head = struct.pack(codec.REQUEST_FORMAT, GPIO_WRITE, request_id, 1000)
        return self._seal(codec.REQUEST, sequence, 0, head + pin + bytes([value]))

    def ping(self, number: int) -> bytes:
        return self._seal(codec.PING, 0, 0, struct.pack(codec.PING_FORMAT, number))

    def noise(self) -> bytes:
        return self.chance.randbytes(self.chance.randrange(1, 40)) + b"\0"

    def flipped(self) -> bytes:
        """One to three bits of a sound request are other ones, its delimiters excepted."""
        frame = bytearray(self.good)
        bits = 8 * (len(frame) - 2)
        for bit in self.chance.sample(range(bits), self.chance.randrange(1, 4)):
            frame[1 + bit // 8] ^= 1 << bit % 8
        return bytes(frame)

    def truncated(self) -> bytes:
        """The beginning or the end of a sound request, without its last content byte or first."""
        cut = self.chance.randrange(2, len(self.good) - 2)
        return self.good[:cut] + b"\0" if self._toss() else b"\0" + self.good[cut:]

    def spliced(self) -> bytes:
        """The beginning of one frame and the end of another."""
        cut = self.chance.randrange(2, len(self.good) - 2)
        return self.good[:cut] + self.harmless()[-self.chance.randrange(2, 8) :]

    def foreign(self) -> bytes:
        """A sound request of another session: the one before this, or any."""
        if self._toss():
            return self.stale
        own, self._encoder.nonce = self._encoder.nonce, self.chance.randrange(1, 2**32)
        frame = self.write(b"\x01", 1, self.chance.randrange(4), 7)
        self._encoder.nonce = own
        return frame

    def harmless(self) -> bytes:
        """A good CRC around anything but what moves a pin or ends the session."""
        chance = self.chance
        kind = codec.REQUEST if self._toss() else chance.choice(_KINDS)
        payload = bytearray(chance.randbytes(chance.randrange(_MOST_PAYLOAD_BYTES)))
        if kind == codec.REQUEST and payload:
            payload[0] = chance.choice(self._harmless)
        sequence = chance.randrange(8 if self._toss() else 256)
        return self._seal(kind, sequence, chance.randrange(256), bytes(payload))

    def stopping(self) -> bytes:
        """What ends a session or makes everything safe."""
        chance = self.chance
        if self._toss():
            return self._seal(codec.ESTOP, 0, 0, b"")
        nonce = 0 if self._toss() else chance.randrange(2**32)
        hello = struct.pack(codec.HELLO_FORMAT, chance.randrange(3), chance.randrange(3), nonce)
        return self._seal(codec.HELLO, 0, 0, hello[: chance.randrange(len(hello) + 1)])

    def _toss(self) -> bool:
        return self.chance.choice((True, False))

    def _seal(self, kind: int, sequence: int, ack: int, payload: bytes) -> bytes:
        length = self._encoder.encode(kind, sequence, ack, _CREDIT, payload)
        return bytes(self._encoder.wire[:length])


Maker = Callable[[Forge], bytes]
# How often each is drawn
SPOILED: tuple[Maker, ...] = (
    *[Forge.harmless] * 3,
    Forge.noise,
    *[Forge.flipped] * 2,
    Forge.truncated,
    Forge.spliced,
    *[Forge.foreign] * 2,
)
