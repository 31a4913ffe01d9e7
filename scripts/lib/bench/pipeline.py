"""Requests to a board as fast as it takes them, by the plain client of firmware/host/wire.py."""

import time
from collections import Counter
from collections.abc import Iterable

from agent.link import frame as codec
from agent.link.frame import Frame, encode
from firmware.host.wire import CREDIT, Silence, Wire

# The board's window
_IN_FLIGHT = 8
_SILENCE_S = 2.0
_CODE_AT = 2


def pipelined(wire: Wire, payloads: Iterable[bytes]) -> Counter[int]:
    """Run these requests in order; how many answers had each code.

    Raises:
        Silence: the board does not answer any more.
    """
    codes: Counter[int] = Counter()
    waiting = iter(payloads)
    more = True
    in_flight = 0
    heard_s = time.monotonic()
    while more or in_flight:
        burst = bytearray()
        while more and in_flight < _IN_FLIGHT:
            payload = next(waiting, None)
            more = payload is not None
            if payload is not None:
                burst += _sealed(wire, payload)
                in_flight += 1
        wire.write(bytes(burst) or encode(Frame(codec.ACK, 0, wire.expected, CREDIT), wire.nonce))
        for frame in wire.decoder.feed(wire.port.read(wire.port.in_waiting or 1)):
            if frame.kind == codec.ANSWER and frame.sequence == wire.expected:
                wire.expected = (wire.expected + 1) & 0xFF
                codes[frame.payload[_CODE_AT]] += 1
                in_flight -= 1
                heard_s = time.monotonic()
        if time.monotonic() - heard_s > _SILENCE_S:
            raise Silence("the board does not answer any more")
    return codes


def _sealed(wire: Wire, payload: bytes) -> bytes:
    frame = Frame(codec.REQUEST, wire.sequence, wire.expected, CREDIT, payload)
    wire.sequence = (wire.sequence + 1) & 0xFF
    return encode(frame, wire.nonce)
