"""A small synchronous client of the wire format, for tests that look at a board from outside.

It shares nothing with the agent's own link but the frame codec, so that both cannot be wrong
in the same way. One request at a time; no window.
"""

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from typing import Any, Self

import serial

from agent.link import frame as codec
from agent.link.frame import Decoder, Frame, encode

BAUDRATE = 115200
# A request over a pseudo-terminal takes a millisecond, over 115200 baud a few
ANSWER_LIMIT_S = 0.5
TRIES = 6
# Four of them until the board takes the host for dead
PING_INTERVAL_S = 0.12
CREDIT = 64


class Silence(Exception):
    """Nobody answers."""


class Refused(Exception):
    """The board answered with another code than ok."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{codec.CODES[code]}: {text}")
        self.code = code
        self.text = text


class Wire:
    """A port with a board behind it."""

    def __init__(self, path: str) -> None:
        self.port = serial.Serial(path, BAUDRATE, timeout=0.02, write_timeout=2)
        self.decoder = Decoder()
        self.nonce = 0
        self.sequence = 0
        self.expected = 0
        self.request_id = 0
        self.greeting: tuple[Any, ...] = ()
        self.name = ""
        # Every EVENT of the session, in order
        self.events: list[Frame] = []

    def close(self) -> None:
        self.port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, kind: int, payload: bytes = b"", sequence: int = 0) -> None:
        self.write(encode(Frame(kind, sequence, self.expected, CREDIT, payload), self.nonce))

    def write(self, data: bytes) -> None:
        self.port.write(data)

    def frames(self, limit_s: float) -> Iterator[Frame]:
        """Yield frames until the time is over; acknowledge answers, and keep their order."""
        until_s = time.monotonic() + limit_s
        while time.monotonic() < until_s:
            for frame in self.decoder.feed(self.port.read(self.port.in_waiting or 1)):
                if frame.kind not in {codec.ANSWER, codec.EVENT}:
                    yield frame
                    continue
                fresh = frame.sequence == self.expected
                self.expected = (self.expected + fresh) & 0xFF
                self.send(codec.ACK)
                if fresh and frame.kind == codec.EVENT:
                    self.events.append(frame)
                if fresh:
                    yield frame

    def greet(self, nonce: int = 0) -> None:
        """Start a session; fills `greeting` and `name`."""
        self.nonce = self.decoder.nonce = nonce or struct.unpack("<I", os.urandom(4))[0] | 1
        self.sequence = self.expected = 0
        self.events.clear()
        for _ in range(TRIES):
            self.send(codec.HELLO, struct.pack(codec.HELLO_FORMAT, 1, 1, self.nonce))
            for frame in self.frames(ANSWER_LIMIT_S):
                if frame.kind == codec.HELLO_ACK and self._is_ours(frame):
                    return
        raise Silence("no board answers the greeting")

    def _is_ours(self, frame: Frame) -> bool:
        self.greeting = struct.unpack_from(codec.HELLO_ACK_FORMAT, frame.payload)
        start = struct.calcsize(codec.HELLO_ACK_FORMAT)
        self.name = frame.payload[start : start + self.greeting[-1]].decode()
        return bool(self.greeting[0] == self.nonce)

    @property
    def configuration_hash(self) -> bytes:
        """Hash of the board's configuration at the greeting; zeros without one."""
        told: bytes = self.greeting[11]
        return told

    def request(self, method: int, arguments: bytes = b"", request_id: int | None = None) -> bytes:
        """The payload of a REQUEST, with the next request id unless one is given."""
        if request_id is None:
            self.request_id = request_id = (self.request_id + 1) & 0xFFFF
        return struct.pack(codec.REQUEST_FORMAT, method, request_id, 1000) + arguments

    def call(self, method: int, arguments: bytes = b"", request_id: int | None = None) -> bytes:
        """Run a method and return its packed result.

        Raises:
            Refused: the board said no.
            Silence: no answer after all tries.
        """
        payload = self.request(method, arguments, request_id)
        sequence = self.sequence
        self.sequence = (sequence + 1) & 0xFF
        for _ in range(TRIES):
            self.send(codec.REQUEST, payload, sequence)
            answer = self.answer_to(payload)
            if answer is not None:
                return answer
        raise Silence(f"no answer to method {method}")

    def answer_to(self, request: bytes, limit_s: float = ANSWER_LIMIT_S) -> bytes | None:
        """The result of that request, or None when it does not come."""
        wanted = request[1:3]
        for frame in self.frames(limit_s):
            if frame.kind == codec.ANSWER and frame.payload[:2] == wanted:
                if frame.payload[2] != codec.OK:
                    raise Refused(frame.payload[2], frame.payload[3:].decode())
                return frame.payload[3:]
        return None

    def manifest(self) -> bytes:
        """The board's description of itself, uncompressed."""
        packed = b""
        total = 1
        while len(packed) < total:
            part = self.call(codec.METHOD_MANIFEST, struct.pack("<I", len(packed)))
            total = struct.unpack_from("<I", part)[0]
            packed += part[4:]
        return zlib.decompress(packed)

    def free_pins(self, manifest: dict[str, Any]) -> list[dict[str, Any]]:
        """The manifest's pins that no entry of the board's configuration has taken."""
        text, total = b"", 1
        while len(text) < total:
            part = self.call(codec.METHOD_CONFIG_READ, struct.pack("<I", len(text)))
            total = struct.unpack_from("<I", part)[0]
            text += part[4:]
        entries = json.loads(text)["pins"] if text else []
        taken = {str(value) for entry in entries for value in entry.values()}
        names = {entry["name"] for entry in entries}
        return [
            pin for pin in manifest["pins"] if pin["name"] not in names and pin["pin"] not in taken
        ]

    def status(self) -> tuple[int, ...]:
        """State, uptime in ms, outputs under lease, frames received, frames dropped, reason."""
        return struct.unpack(codec.STATUS_FORMAT, self.call(codec.METHOD_STATUS))

    def clear(self) -> None:
        """Unlock the outputs, whatever they were locked for."""
        reason = self.status()[5]
        self.call(codec.METHOD_CLEAR, bytes([reason]))

    def rest(self, for_s: float) -> None:
        """Do nothing but show that the host is alive, so that the dead man's handle rests."""
        until_s = time.monotonic() + for_s
        while (left_s := until_s - time.monotonic()) > 0:
            self.send(codec.PING, struct.pack(codec.PING_FORMAT, 0))
            for _ in self.frames(min(left_s, PING_INTERVAL_S)):
                pass
