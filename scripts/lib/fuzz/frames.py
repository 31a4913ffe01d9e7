"""Frames to throw at a board, by the fault in their name.

None but `write` may move a pin, and rules only the one output that is theirs.
"""

import random
import struct
from collections.abc import Callable

from agent.link import frame as codec
from agent.link.frame import Encoder

GPIO_WRITE = 16
GPIO_READ = 17
# The link's own methods that make outputs safe or clear a safe state
_MOVING = frozenset({GPIO_WRITE, codec.METHOD_SAFE, codec.METHOD_CLEAR})
# The kinds that end a session or stop everything
_ENDING = frozenset({codec.HELLO, codec.ESTOP})
_KINDS = tuple(kind for kind in range(32) if kind not in _ENDING)
_METHODS = 256
_MOST_PAYLOAD_BYTES = 24
_CREDIT = 255
_RATES = (0, 9_600, 115_200, 230_400, 921_600, 2**32 - 1)
_UPDATE_ACTIONS = 8
_UPDATE_LENGTHS = (0, 1, 200, 40_000, 2**32 - 1)
_REFLEX_ACTIONS = 6
_REFLEX_PUT = 2
_RULE_OUTPUT_AT = 2
_OWN_OUTPUT_SHARE = 0.8


class Forge:
    """Makes frames for one session with a board.

    Args:
        moving: methods that may move an output when they are asked well.
        ruled: the index of the output that rules may move; those they name beside it are none.
        outputs: the indexes of all outputs.
    """

    def __init__(
        self, chance: random.Random, moving: frozenset[int], ruled: int, outputs: frozenset[int]
    ) -> None:
        self.chance = chance
        self._ruled = ruled
        self._no_outputs = tuple(one for one in range(256) if one not in outputs)
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

    def update(self, sequence: int | None = None) -> bytes:
        """An update in any of its actions, at any moment, as it should be or not quite."""
        chance = self.chance
        action = chance.randrange(_UPDATE_ACTIONS)
        number = struct.pack("<I", chance.choice(_UPDATE_LENGTHS))
        arguments = bytes([action]) + number + chance.randbytes(chance.choice((32, 9)))
        return self._request(codec.METHOD_UPDATE, arguments, sequence)

    def reflex(self, sequence: int | None = None) -> bytes:
        """A rule, or what can be done with one, as it should be or not quite."""
        chance = self.chance
        action = _REFLEX_PUT if self._toss() else chance.randrange(_REFLEX_ACTIONS)
        slot = chance.choice((255, chance.randrange(codec.REFLEXES_MOST), chance.randrange(256)))
        rest = self._rule() if action == _REFLEX_PUT else chance.randbytes(chance.randrange(3))
        return self._request(codec.METHOD_REFLEX, bytes([action, slot]) + rest, sequence)

    def rate(self) -> bytes:
        """Another rate of the line, asked for or agreed to."""
        chance = self.chance
        baud = chance.choice(_RATES) if self._toss() else chance.randrange(2**32)
        payload = struct.pack(codec.BAUD_FORMAT, baud) + b"\0"
        kind = codec.BAUD if self._toss() else codec.BAUD_ACK
        return self._seal(kind, 0, chance.randrange(256), payload[: chance.randrange(6)])

    def _rule(self) -> bytes:
        chance = self.chance
        conditions = [
            (chance.randrange(8), chance.randrange(4), chance.randrange(-1, 3), chance.randrange(2))
            for _ in range(2)
        ]
        numbers = (1, chance.randrange(1, 3), self._ruled, chance.randrange(2))
        times = (chance.randrange(1, 400), chance.randrange(1, 3), chance.randrange(2))
        flat = [field for condition in conditions for field in condition]
        name = chance.randbytes(3)
        rule = bytearray(struct.pack(codec.RULE_FORMAT, *numbers, *times, *flat, 3, name))
        for _ in range(chance.choice((0, 0, 1, 3))):
            rule[chance.randrange(len(rule))] = chance.randrange(256)
        # Another output than its own would be one that it may move
        is_own = chance.random() < _OWN_OUTPUT_SHARE
        rule[_RULE_OUTPUT_AT] = self._ruled if is_own else chance.choice(self._no_outputs)
        whole = len(rule) if self._toss() or is_own else chance.randrange(len(rule) + 1)
        return bytes(rule[:whole])

    def _request(self, method: int, arguments: bytes, sequence: int | None) -> bytes:
        """Without a sequence one that may be expected next, early in a session."""
        chance = self.chance
        head = struct.pack(codec.REQUEST_FORMAT, method, chance.randrange(2**16), 1000)
        if sequence is None:
            sequence = chance.randrange(8 if self._toss() else 256)
        return self._seal(codec.REQUEST, sequence, chance.randrange(256), head + arguments)

    def stopping(self) -> bytes:
        """Return a frame that ends a session or makes everything safe."""
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
    Forge.update,
    Forge.reflex,
    Forge.rate,
)
