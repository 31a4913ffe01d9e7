"""A board as the wire format describes it, in the fewest words: what a session is held against.

Time is told, bytes come out of a list; nothing here is shared with the agent but the frame codec.
"""

import struct

from agent.link import frame as codec
from agent.link.frame import Decoder, Frame, encode
from tests.fakes.peer import hello_ack

_WINDOW = 8
_RESEND_S = 0.15
_CREDIT = 64
START_BAUD, TOP_BAUD = 115_200, 921_600
_SILENCE_S = 1.0
# Of all sequence numbers: those that lie before another one
_HALF = 128


class ModelPeer:
    """Runs every request that arrives in order, once, and answers until it is acknowledged."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        # With the rate at which each was sent
        self.out: list[tuple[bytes, int]] = []
        self.baud = START_BAUD
        self._heard_at_s = 0.0
        self._decoder = Decoder()
        self.expected = 0
        self._base = 0
        self._answers: list[bytes] = []
        self._resend_at_s = 0.0

    def receive(self, data: bytes, now_s: float) -> None:
        for frame in self._decoder.feed(data):
            self._heard_at_s = now_s
            if frame.kind == codec.HELLO:
                self._greet(frame.payload)
            elif frame.kind == codec.PING:
                self._send(codec.PONG, frame.payload + bytes(4))
            elif frame.kind == codec.BAUD:
                self._send(codec.BAUD_ACK, frame.payload)
                (self.baud,) = struct.unpack(codec.BAUD_FORMAT, frame.payload)
            else:
                self._on_session_frame(frame, now_s)

    def tick(self, now_s: float) -> None:
        if now_s >= self._heard_at_s + _SILENCE_S:
            self.baud = START_BAUD
        if self._answers and now_s >= self._resend_at_s:
            self._send_answers(now_s, 0)

    def _greet(self, payload: bytes) -> None:
        (nonce,) = struct.unpack_from("<I", payload, 2)
        self._decoder.nonce = nonce
        self._send(codec.HELLO_ACK, hello_ack(nonce))

    def _on_session_frame(self, frame: Frame, now_s: float) -> None:
        acknowledged = (frame.ack - self._base) % 256
        if acknowledged <= len(self._answers):
            del self._answers[:acknowledged]
            self._base = frame.ack
        if frame.kind == codec.NAK:
            self._send_answers(now_s, 0)
        elif frame.kind == codec.REQUEST:
            self._take(frame, now_s)

    def _take(self, frame: Frame, now_s: float) -> None:
        behind = (self.expected - frame.sequence) % 256
        if behind:
            self._send(codec.ACK if behind < _HALF else codec.NAK)
        elif len(self._answers) < _WINDOW:
            self.expected = (self.expected + 1) % 256
            _, request_id, _ = struct.unpack_from(codec.REQUEST_FORMAT, frame.payload)
            self.ran.append(request_id)
            self._answers.append(struct.pack(codec.ANSWER_FORMAT, request_id, 0) + b"done")
            self._send_answers(now_s, len(self._answers) - 1)

    def _send_answers(self, now_s: float, first: int) -> None:
        self._resend_at_s = now_s + _RESEND_S
        for number in range(first, len(self._answers)):
            self._send(codec.ANSWER, self._answers[number], (self._base + number) % 256)

    def _send(self, kind: int, payload: bytes = b"", sequence: int = 0) -> None:
        frame = Frame(kind, sequence, self.expected, _CREDIT, payload)
        self.out.append((encode(frame, self._decoder.nonce), self.baud))
