"""The frame codec of the link, one source for the agent and for the board.

Promises: nothing with a wrong CRC, a wrong nonce or a wrong length comes out, whatever goes in;
memory is bounded and the next delimiter always resynchronises. Runs on CPython and on MicroPython,
so: only `binascii` and `struct`, no f-strings, nothing allocated per received byte.
The format is described in firmware/README.md.
"""

import binascii
import struct

PROTOCOL_VERSION = 1

HELLO = 1
HELLO_ACK = 2
ACK = 3
NAK = 4
PING = 5
PONG = 6
BUSY = 7
ESTOP = 8
BAUD = 9
BAUD_ACK = 10
REQUEST = 16
ANSWER = 17
EVENT = 18

# Bits of `kind` that no version has given a meaning yet
KIND_RESERVED = 0xE0

CODES = (
    "ok",
    "bad_pin",
    "out_of_range",
    "busy",
    "unsafe_state",
    "lease_expired",
    "interlock",
    "io",
    "not_supported",
    "expired",
    "bad_request",
)
OK = 0
BAD_PIN = 1
OUT_OF_RANGE = 2
BUSY_CODE = 3
UNSAFE_STATE = 4
LEASE_EXPIRED = 5
INTERLOCK = 6
IO = 7
NOT_SUPPORTED = 8
EXPIRED = 9
BAD_REQUEST = 10

METHOD_MANIFEST = 0
METHOD_LEASE_RENEW = 1
METHOD_SAFE = 2
METHOD_STATUS = 3
METHOD_CLEAR = 4
METHOD_CONFIG_BEGIN = 5
METHOD_CONFIG_WRITE = 6
METHOD_CONFIG_COMMIT = 7
METHOD_CONFIG_READ = 8
METHOD_SUBSCRIBE = 9
METHOD_UNSUBSCRIBE = 10
METHOD_CREDIT = 11
METHOD_UPDATE = 12
METHOD_REFLEX = 13
# The first method that a manifest describes; those before it belong to the link
METHOD_FIRST_OWN = 16

STATE_BOOT = 0
STATE_IDLE = 1
STATE_CONFIGURED = 2
STATE_ARMED = 3
STATE_SAFE = 4

# Why the outputs are locked at their safe values until `clear` names the reason
REASON_NONE = 0
REASON_ESTOP = 1
REASON_WATCHDOG = 2
REASON_FAULT = 3

HELLO_FORMAT = "<BBI"
# nonce, version, firmware x 3, build, reset cause, boot count, window, flash class, manifest hash,
# configuration hash, unique id, length of the name that follows
HELLO_ACK_FORMAT = "<IBBBBIBIHB8s8s12sB"
PING_FORMAT = "<I"
PONG_FORMAT = "<II"
BUSY_FORMAT = "<H"
REQUEST_FORMAT = "<BHH"
ANSWER_FORMAT = "<HB"
# The rate in question; in BAUD_ACK 0 is a no
BAUD_FORMAT = "<I"
# subscription, event number, dropped since the last event, device ms, value
EVENT_FORMAT = "<BHHIi"
# state, uptime ms, outputs under lease, frames received, frames dropped, reason
STATUS_FORMAT = "<BIIIIB"
# length, hash; what follows them in config_write is the text itself
CONFIG_BEGIN_FORMAT = "<I8s"
CONFIG_OFFSET_FORMAT = "<I"
CONFIG_LIMIT_BYTES = 4096
# subscription, pin, mode, least interval ms, low, high, queue (0: only the latest), credits
SUBSCRIBE_FORMAT = "<BBBHiiBB"
SUBSCRIBE_CHANGE = 1
SUBSCRIBE_PERIODIC = 2
SUBSCRIBE_THRESHOLD = 3
SUBSCRIPTIONS_MOST = 16
# subscription, more
CREDIT_FORMAT = "<BB"
# enabled, conditions, output, value, duration ms, interval s, hold ms, two conditions (pin,
# comparison with the part in its upper half, threshold, hysteresis), length of the name, name
RULE_FORMAT = "<BBBiIIIBBiiBBiiB23s"
RULE_BYTES = 63
# Where a rule has its pins: the output and those of the two conditions
RULE_PINS_AT = (2, 19, 29)
# state, fired, refused, code of the last refusal, seconds until it may act again
REFLEX_STATE_FORMAT = "<BHHBI"
REFLEX_STATE_BYTES = 10
REFLEXES_MOST = 16

HEADER_BYTES = 4
CRC_BYTES = 4
PAYLOAD_LIMIT_BYTES = 240
# Below 254, so that COBS adds exactly one byte and no block is ever full
RAW_LIMIT_BYTES = HEADER_BYTES + PAYLOAD_LIMIT_BYTES + CRC_BYTES
# Two delimiters and the byte of COBS
WIRE_LIMIT_BYTES = RAW_LIMIT_BYTES + 3
CREDIT_UNIT_BYTES = 16


def seed_of(kind: int, nonce: int) -> int:
    """The CRC's seed: greetings come before there is a nonce."""
    return 0 if HELLO <= kind <= HELLO_ACK else nonce


class Frame:
    """One frame as it was received; never changed after it was made."""

    __slots__ = ("ack", "credit", "kind", "payload", "sequence")

    def __init__(
        self, kind: int, sequence: int = 0, ack: int = 0, credit: int = 0, payload: bytes = b""
    ) -> None:
        self.kind = kind
        self.sequence = sequence
        self.ack = ack
        self.credit = credit
        self.payload = payload

    def fields(self) -> tuple[int, int, int, int, bytes]:
        return (self.kind, self.sequence, self.ack, self.credit, self.payload)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.fields())

    def __repr__(self) -> str:
        return "Frame" + repr(self.fields())


def _stuff(raw: bytearray, length: int, wire: bytearray) -> int:
    # COBS between two delimiters. A byte at index i lands at i + 2; the byte before a run of
    # non-zero bytes holds the way to the next zero.
    wire[0] = 0
    code_at = 1
    for at in range(length):
        byte = raw[at]
        if byte:
            wire[at + 2] = byte
        else:
            wire[code_at] = at + 2 - code_at
            code_at = at + 2
    wire[code_at] = length + 2 - code_at
    wire[length + 2] = 0
    return length + 3


class Encoder:
    """Makes frames in one buffer of its own, `wire`, which the next frame overwrites."""

    __slots__ = ("_raw", "_view", "nonce", "wire")

    # A board puts its own in this place
    stuff = staticmethod(_stuff)

    def __init__(self, nonce: int = 0) -> None:
        self.nonce = nonce
        self.wire = bytearray(WIRE_LIMIT_BYTES)
        self._raw = bytearray(RAW_LIMIT_BYTES)
        self._view = memoryview(self._raw)

    def encode(
        self,
        kind: int,
        sequence: int,
        ack: int,
        credit: int,
        payload: bytes | bytearray | memoryview,
    ) -> int:
        """Write the frame to `wire` and return its length there.

        Raises:
            ValueError: the payload is too long for a frame.
        """
        length = len(payload)
        if length > PAYLOAD_LIMIT_BYTES:
            raise ValueError("payload too long")
        raw = self._raw
        raw[0] = kind
        raw[1] = sequence
        raw[2] = ack
        raw[3] = credit
        end = HEADER_BYTES + length
        if length:
            self._view[HEADER_BYTES:end] = payload
        crc = binascii.crc32(self._view[:end], seed_of(kind, self.nonce))
        struct.pack_into("<I", raw, end, crc)
        return self.stuff(raw, end + CRC_BYTES, self.wire)


def encode(frame: Frame, nonce: int = 0) -> bytes:
    """The frame as bytes for the wire, both delimiters included."""
    encoder = Encoder(nonce)
    length = encoder.encode(frame.kind, frame.sequence, frame.ack, frame.credit, frame.payload)
    return bytes(encoder.wire[:length])


class Decoder:
    """Finds frames in any stream of bytes, however it is cut.

    `nonce` is the session's; while it is 0 only greetings pass. The counters only grow.
    """

    __slots__ = (
        "_blocks",
        "_left",
        "_length",
        "_raw",
        "_view",
        "complete",
        "crc_errors",
        "frames",
        "malformed",
        "nonce",
        "overlong",
        "size",
    )

    def __init__(self, nonce: int = 0) -> None:
        self.nonce = nonce
        # Whether `take` stopped behind a frame, and how many bytes its payload has
        self.complete = False
        self.size = 0
        self.frames = 0
        self.crc_errors = 0
        self.malformed = 0
        self.overlong = 0
        # One byte more than a frame may have: it marks what is too long
        self._raw = bytearray(RAW_LIMIT_BYTES + 1)
        self._view = memoryview(self._raw)
        self._length = 0
        self._left = 0
        self._blocks = False

    @property
    def dropped(self) -> int:
        """Number of pieces between delimiters that were no frame for us."""
        return self.crc_errors + self.malformed + self.overlong

    # The frame that `take` has just completed, without a copy; the next `take` overwrites it.

    @property
    def kind(self) -> int:
        return self._raw[0]

    @property
    def sequence(self) -> int:
        return self._raw[1]

    @property
    def ack(self) -> int:
        return self._raw[2]

    @property
    def credit(self) -> int:
        return self._raw[3]

    @property
    def payload(self) -> memoryview:
        return self._view[HEADER_BYTES : HEADER_BYTES + self.size]

    def reset(self) -> None:
        """Forget a half-received frame: the port was opened anew."""
        self._length = self._left = 0
        self._blocks = self.complete = False

    def feed(self, data: bytes | bytearray | memoryview) -> "list[Frame]":
        """All frames that end in `data`; the rest is kept for the next call."""
        found = []
        at = 0
        while at < len(data):
            at = self.take(data, at, len(data))
            if self.complete:
                header = (self.kind, self.sequence, self.ack, self.credit)
                found.append(Frame(*header, bytes(self.payload)))
        return found

    def take(self, data: bytes | bytearray | memoryview, start: int, stop: int) -> int:
        """Read from `start` up to the end of a frame or to `stop`; return where it stopped.

        `complete` says whether a frame ended there.
        """
        raw = self._raw
        length = self._length
        left = self._left
        self.complete = False
        while start < stop:
            byte = data[start]
            start += 1
            if byte == 0:
                self._finish(length, left)
                length = left = 0
                if self.complete:
                    break
            elif length > RAW_LIMIT_BYTES:
                continue  # too long: the next delimiter ends it
            elif left:
                raw[length] = byte
                length += 1
                left -= 1
            else:
                left = byte - 1
                if self._blocks:
                    raw[length] = 0
                    length += 1
                self._blocks = True
        self._length = length
        self._left = left
        return start

    def _finish(self, length: int, left: int) -> None:
        if not self._blocks:
            return  # two delimiters in a row
        self._blocks = False
        if length > RAW_LIMIT_BYTES:
            self.overlong += 1
        elif left or length < HEADER_BYTES + CRC_BYTES:
            self.malformed += 1
        elif not self._is_sound(length - CRC_BYTES):
            self.crc_errors += 1
        elif self._raw[0] & KIND_RESERVED:
            self.malformed += 1
        else:
            self.size = length - HEADER_BYTES - CRC_BYTES
            self.frames += 1
            self.complete = True

    def _is_sound(self, end: int) -> bool:
        kind = self._raw[0]
        if self.nonce == 0 and not HELLO <= kind <= HELLO_ACK and kind != ESTOP:
            return False
        said = struct.unpack_from("<I", self._raw, end)[0]
        if binascii.crc32(self._view[:end], seed_of(kind, self.nonce)) == said:
            return True
        # An emergency stop must never be harder to send than a command: it needs no session
        return bool(kind == ESTOP and binascii.crc32(self._view[:end], 0) == said)
