"""Sequenced frames on their way: what is sent again until acknowledged, and what is taken once.

Go-back-N. Knows numbers and times; encodes nothing and sends nothing.
"""

import enum
from collections import deque

from msgspec import Struct

from agent.link.frame import HEADER_BYTES, RAW_LIMIT_BYTES, WIRE_LIMIT_BYTES

# Two frames of 256 bytes at 115200 baud take 45 ms, a short request and its answer 5 ms
RTO_MIN_S = 0.03
# Longer than this, and a person is waiting for a board that is not there
RTO_MAX_S = 1.0
# Before anything was measured: MicroPython may be collecting garbage or flushing a file
RTO_INITIAL_S = 0.2
# A frame is sent once and then this many times again; after that the session is dead
MAX_RETRIES = 6

_SMOOTHING = 1 / 8
_VARIATION = 1 / 4


class RetransmissionTimer:
    """The retransmission timeout, learned from round trips of frames that were sent once."""

    def __init__(self) -> None:
        self.rto_s = RTO_INITIAL_S
        self._smoothed_s: float | None = None
        self._variation_s = 0.0

    def sample(self, round_trip_s: float) -> None:
        """Learn from a round trip; also ends any back-off."""
        if self._smoothed_s is None:
            self._smoothed_s = round_trip_s
            self._variation_s = round_trip_s / 2
        else:
            deviation_s = abs(self._smoothed_s - round_trip_s)
            self._variation_s += _VARIATION * (deviation_s - self._variation_s)
            self._smoothed_s += _SMOOTHING * (round_trip_s - self._smoothed_s)
        wanted_s = self._smoothed_s + 4 * self._variation_s
        self.rto_s = min(RTO_MAX_S, max(RTO_MIN_S, wanted_s))

    def back_off(self) -> None:
        """Double the timeout: the line may only be slow."""
        self.rto_s = min(RTO_MAX_S, 2 * self.rto_s)


# Of the 256 numbers, half are "before" and half "after" the expected one
_SEQUENCES = 256
_AHEAD = _SEQUENCES // 2
# Delimiters, COBS, header and CRC around a payload
_OVERHEAD_BYTES = WIRE_LIMIT_BYTES - (RAW_LIMIT_BYTES - 2 * HEADER_BYTES)
# Frames on their way at once; the peer's receive buffer may allow fewer
WINDOW_FRAMES = 8
# A NAK that follows a resend more closely than this speaks of the frames before it
NAK_HOLD_OFF_S = 0.02


class Outgoing(Struct):
    """A sequenced frame: waiting (`tries` is 0), or sent and not yet acknowledged."""

    kind: int
    payload: bytes
    sequence: int = 0
    tries: int = 0
    sent_at_s: float = 0.0

    @property
    def was_sent(self) -> bool:
        return self.tries > 0

    @property
    def wire_bytes(self) -> int:
        return len(self.payload) + _OVERHEAD_BYTES


class SendWindow:
    """Frames in the order they were given, sent within the peer's credit until acknowledged."""

    def __init__(self) -> None:
        self.credit_bytes = 0
        self.timer = RetransmissionTimer()
        # Sent as often as a frame may be, and still not acknowledged
        self.is_hopeless = False
        self._waiting: deque[Outgoing] = deque()
        self._on_way: deque[Outgoing] = deque()
        self._next_sequence = 0
        self._fruitless = 0

    def add(self, kind: int, payload: bytes, *, urgent: bool = False) -> Outgoing:
        """Queue a frame, an urgent one before all that wait."""
        frame = Outgoing(kind, payload)
        if urgent:
            self._waiting.appendleft(frame)
        else:
            self._waiting.append(frame)
        return frame

    def withdraw(self, frame: Outgoing) -> None:
        """Take back a frame that has not been sent."""
        self._waiting.remove(frame)

    @property
    def is_waiting(self) -> bool:
        """True if a frame could be sent now."""
        return bool(self._waiting) and self._fits(self._waiting[0])

    @property
    def due_at_s(self) -> float | None:
        """Time when the oldest unacknowledged frame is sent again."""
        return self._on_way[0].sent_at_s + self.timer.rto_s if self._on_way else None

    def next_frame(self, now_s: float) -> Outgoing | None:
        """The next frame to be sent for the first time, if the credit allows one."""
        if not self.is_waiting:
            return None
        frame = self._waiting.popleft()
        frame.sequence = self._next_sequence
        self._next_sequence = (self._next_sequence + 1) % _SEQUENCES
        self._on_way.append(frame)
        return _sent(frame, now_s)

    def acknowledge(self, ack: int, now_s: float) -> float | None:
        """Forget every frame before `ack`, and tell the round trip where that is certain.

        An `ack` of something never sent is ignored.
        """
        if not self._on_way:
            return None
        count = (ack - self._on_way[0].sequence) % _SEQUENCES
        if not 0 < count <= len(self._on_way):
            return None
        self._fruitless = 0
        for _ in range(count):
            frame = self._on_way.popleft()
        # Karn: of a frame that was sent twice nobody knows which one was acknowledged
        if frame.tries > 1:
            return None
        round_trip_s = now_s - frame.sent_at_s
        self.timer.sample(round_trip_s)
        return round_trip_s

    def resend_missing(self, now_s: float) -> list[Outgoing]:
        """After a NAK: everything on its way again, unless that has just happened."""
        if not self._on_way or now_s - self._on_way[0].sent_at_s < NAK_HOLD_OFF_S:
            return []
        return self._resend(now_s) if self._fruitless < MAX_RETRIES else []

    def resend_due(self, now_s: float) -> list[Outgoing]:
        """After the timeout: everything on its way again."""
        if self.due_at_s is None or now_s < self.due_at_s:
            return []
        if self._fruitless >= MAX_RETRIES:
            self.is_hopeless = True
            return []
        self.timer.back_off()
        return self._resend(now_s)

    def _resend(self, now_s: float) -> list[Outgoing]:
        self._fruitless += 1
        return [_sent(frame, now_s) for frame in self._on_way]

    def _fits(self, frame: Outgoing) -> bool:
        if not self._on_way:
            # One is always allowed: its acknowledgement brings the next credit
            return True
        bytes_on_way = sum(one.wire_bytes for one in self._on_way)
        return (
            len(self._on_way) < WINDOW_FRAMES
            and bytes_on_way + frame.wire_bytes <= self.credit_bytes
        )


class FrameArrival(enum.Enum):
    """Relation of a sequenced frame to its receiver."""

    # The one expected: it counts
    NEW = "new"
    # It was taken before: acknowledge again, nothing else
    REPEATED = "repeated"
    # One before it is missing
    GAP = "gap"


class ReceiveWindow:
    """The next sequence that is expected; only that one is taken."""

    def __init__(self) -> None:
        self.expected = 0

    def take(self, sequence: int) -> FrameArrival:
        if sequence == self.expected:
            self.expected = (self.expected + 1) % _SEQUENCES
            return FrameArrival.NEW
        ahead = (sequence - self.expected) % _SEQUENCES
        return FrameArrival.GAP if ahead < _AHEAD else FrameArrival.REPEATED


def _sent(frame: Outgoing, now_s: float) -> Outgoing:
    frame.tries += 1
    frame.sent_at_s = now_s
    return frame
