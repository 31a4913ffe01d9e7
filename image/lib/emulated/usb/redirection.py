"""The packets of USB redirection, written from its published description (version 0.7).

After the greeting both sides number packets in 64 bits; what is not used here is not known here.
"""

import enum
import struct
from dataclasses import dataclass

from image.lib.emulated.usb.device import IN, Face

_GREETING = struct.Struct("<III")
_HEADER = struct.Struct("<IIQ")
_VERSION = b"barnacle image/test".ljust(64, b"\0")
_ENDPOINTS = 32
_NONE = 255
_FULL_SPEED = 1
# The version of the device in what connects it, the packet size of each endpoint, wide numbers and
# wide lengths: without them QEMU lets nothing into a USB 3 port
_ABILITIES = (1 << 1) | (1 << 4) | (1 << 5) | (1 << 6)


class Kind(enum.IntEnum):
    """The packets that are understood."""

    HELLO = 0
    CONNECT = 1
    DISCONNECT = 2
    RESET = 3
    INTERFACES = 4
    ENDPOINTS = 5
    SET_CONFIGURATION = 6
    GET_CONFIGURATION = 7
    CONFIGURATION = 8
    SET_ALTERNATIVE = 9
    GET_ALTERNATIVE = 10
    ALTERNATIVE = 11
    START_INTERRUPTS = 15
    STOP_INTERRUPTS = 16
    INTERRUPTS = 17
    CANCEL = 21
    REQUEST = 100
    BULK = 101


class Status(enum.IntEnum):
    """Status of a transfer."""

    DONE = 0
    CANCELLED = 1
    STALLED = 4


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet; `number` ties an answer to what it answers."""

    kind: int
    number: int
    body: bytes


def packed(kind: Kind, number: int = 0, body: bytes = b"") -> bytes:
    return _HEADER.pack(kind, len(body), number) + body


class Splitter:
    """Makes packets of what is received."""

    def __init__(self) -> None:
        self._rest = b""
        # The greeting comes before it is known how wide numbers are
        self._header = _GREETING

    def split(self, received: bytes) -> list[Packet]:
        """The packets that are whole by now."""
        self._rest += received
        packets = []
        while len(self._rest) >= self._header.size:
            kind, length, number = self._header.unpack_from(self._rest)
            start, end = self._header.size, self._header.size + length
            if len(self._rest) < end:
                break
            packets.append(Packet(kind, number, self._rest[start:end]))
            self._rest = self._rest[end:]
            self._header = _HEADER
        return packets


def hello() -> bytes:
    body = _VERSION + struct.pack("<I", _ABILITIES)
    return _GREETING.pack(Kind.HELLO, len(body), 0) + body


def connected(face: Face) -> bytes:
    """Everything that plugs a device in."""
    described = struct.pack("<BBBBHHH", _FULL_SPEED, *face.triple, face.vendor, face.product, 0x200)
    return layout_of(face) + packed(Kind.CONNECT, 0, described)


def layout_of(face: Face) -> bytes:
    """Interfaces and endpoints."""
    count = len(face.interfaces)
    columns = [bytes(range(count)).ljust(_ENDPOINTS, b"\0")]
    for at in range(3):
        column = bytes(one.triple[at] for one in face.interfaces)
        columns.append(column.ljust(_ENDPOINTS, b"\0"))
    interfaces = struct.pack("<I", count) + b"".join(columns)
    return packed(Kind.INTERFACES, 0, interfaces) + packed(Kind.ENDPOINTS, 0, _endpoints(face))


def _endpoints(face: Face) -> bytes:
    kinds, intervals = bytearray([_NONE] * _ENDPOINTS), bytearray(_ENDPOINTS)
    interfaces, sizes = bytearray(_ENDPOINTS), [0] * _ENDPOINTS
    # The one for requests, in both directions
    for at in (0, _ENDPOINTS // 2):
        kinds[at], sizes[at] = 0, 64
    for one in face.endpoints:
        at = (one.address & 0x0F) + (_ENDPOINTS // 2 if one.address & IN else 0)
        kinds[at], sizes[at], interfaces[at] = one.kind, one.size, one.interface
        intervals[at] = 16
    return bytes(kinds + intervals + interfaces) + struct.pack(f"<{_ENDPOINTS}H", *sizes)
