"""One session with a board, without a port: bytes in, bytes out, and the time is told.

Promises: a request is delivered at most once and in order, or the session ends with a reason.
Used once; every new connection needs a new one. It must not wait, sleep or touch a file.
"""

import enum
import struct

from msgspec import Struct

from agent.link import frame as wire
from agent.link.arq import FrameArrival, Outgoing, ReceiveWindow, SendWindow
from agent.link.counters import Counters
from agent.link.frame import Decoder, Encoder, Frame, encode
from agent.link.hello import BoardHello, UnknownDevice, hello_payload, read_hello
from agent.link.rate import TRIAL_PING_S, LineRate, Rates, RateStep

# A board between two passes of its loop answers well within this
HELLO_INTERVAL_S = 0.25
# Together 1.25 s: a board that has just been reset has started by then or is tried anew
HELLO_TRIES = 5
# When nothing was heard for this long the board is asked; below its dead-man of 0.5 s
PING_INTERVAL_S = 0.3
# The timer of a question is set when the one before it goes out, and its answer puts the next one
# off by the way there and back. Asking that much too early spares a second wake-up for each
PING_EARLY_S = 0.02
# While an output is held the board hears something this often: its dead-man of 500 ms forgives
# three that are lost
KEEP_ALIVE_S = 0.12
# Nothing acknowledges it, and it may be sent as often as one likes
ESTOP_REPEATS = 3
# Unanswered in a row: with the interval before the first, silence is noticed after 1.5 s
MAX_UNANSWERED_PINGS = 4
# Erasing the largest sector of an F4 takes 4 s; a board that claims more is not believed
MAX_BUSY_S = 10.0
# The next request follows an answer sooner than this and carries the acknowledgement with it
ACK_DELAY_S = 0.003
# One NAK for each missing frame and round trip is enough
NAK_INTERVAL_S = 0.03
# The kernel holds 4095 bytes for us; the largest number that fits the field says nearly that
OWN_CREDIT = 255

_SEQUENCED = frozenset({wire.ANSWER, wire.EVENT})
_CLOCK_MASK = 2**32 - 1
# With the seed that a board without a session listens for: one that was reset, for example
_STOP_BEFORE_GREETING = encode(Frame(wire.ESTOP))


class SessionState(enum.Enum):
    """State of a session."""

    # HELLO is sent and repeated; nothing has come back
    GREETING = "greeting"
    # The nonce was echoed: requests go through
    OPEN = "open"
    # The board answered in a version that is not ours; final
    REFUSED = "refused"
    # Given up, `reason` says why; final
    DEAD = "dead"


class Request(Struct, frozen=True):
    """Request to the board; an urgent one overtakes waiting ones, never sent ones."""

    method: int
    arguments: bytes
    deadline_ms: int
    urgent: bool = False


class BoardAnswer(Struct, frozen=True):
    """Answer of the board to a request; `code` 0 is success."""

    request_id: int
    code: int
    payload: bytes


class Session:
    """The agent's end of a session.

    Args:
        nonce: random and not 0; frames of any other session are not accepted.
        path: the port's name, for sentences to the person.
        started_at_s: the time on the clock that every other `now_s` is of.
        rates: what the port can do; without them the rate stays as it is.
    """

    def __init__(
        self, nonce: int, path: str, started_at_s: float, rates: Rates | None = None
    ) -> None:
        self.state = SessionState.GREETING
        self.reason = ""
        self.greeting: BoardHello | None = None
        self.counters = Counters()
        self.device_clock = self.counters.clock
        # Whether an output is away from its safe value because of this session
        self.is_holding = False
        # The board is to hear the emergency stop before anything else
        self.is_stopped = False
        self.rate = LineRate(rates or Rates())
        self._nonce = nonce
        self._path = path
        self._encoder = Encoder(nonce)
        self._decoder = Decoder(nonce)
        self._overheard = UnknownDevice()
        self._sending = SendWindow()
        self._receiving = ReceiveWindow()
        self._output: list[bytes] = []
        self._answers: list[BoardAnswer] = []
        self._events: list[bytes] = []
        self._acknowledge_at_s: float | None = None
        self._nak_after_s = started_at_s
        self._busy_until_s = started_at_s
        # HELLO while greeting, PING once open: how many went unanswered, and when the next is due
        self._unanswered = 0
        self._probe_at_s = started_at_s
        self._sent_at_s = started_at_s
        self._pinged_at_s, self._pinged_ms = started_at_s, -1

    @property
    def is_over(self) -> bool:
        # Asked several times per frame, and hashing an enum is slow
        return self.state is SessionState.DEAD or self.state is SessionState.REFUSED

    def request(self, request: Request, request_id: int) -> Outgoing:
        """Queue a request; `tick` sends it when the board has room."""
        head = struct.pack(wire.REQUEST_FORMAT, request.method, request_id, request.deadline_ms)
        payload = head + request.arguments
        return self._sending.add(wire.REQUEST, payload, urgent=request.urgent)

    def stop(self) -> None:
        """The emergency stop, at once and past everything that waits, also before a busy board."""
        self.is_stopped = True
        if self.state is SessionState.OPEN:
            for _ in range(ESTOP_REPEATS):
                self._emit(wire.ESTOP)
        elif self.state is SessionState.GREETING:
            self._output.append(_STOP_BEFORE_GREETING)

    def withdraw(self, frame: Outgoing) -> None:
        """Take back a request that was not sent."""
        self._sending.withdraw(frame)

    def receive(self, data: bytes, now_s: float) -> None:
        """Receive bytes from the port; call `take_answers` and `tick` afterwards."""
        if self.state is SessionState.GREETING:
            self._overheard.add(data)
        for frame in self._decoder.feed(data):
            if not self.is_over:
                self._on_frame(frame, now_s)
        self.counters.frames_dropped = self._decoder.dropped
        self.counters.crc_errors = self._decoder.crc_errors

    def tick(self, now_s: float) -> None:
        """Do what is due: greet, ask, send, send again, acknowledge, give up."""
        if self.state is SessionState.GREETING:
            self._greet(now_s)
        elif self.state is SessionState.OPEN and now_s >= self._busy_until_s:
            self._change_rate(now_s)
            if not self.rate.is_pending:
                self._probe(now_s)
                self._send(now_s)
                self._keep_alive(now_s)
        if self._output:
            self._sent_at_s = now_s

    def take_output(self) -> bytes:
        """Return the bytes to write to the port now, once."""
        output = b"".join(self._output)
        self._output.clear()
        return output

    def take_answers(self) -> list[BoardAnswer]:
        """Return the answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def take_events(self) -> list[bytes]:
        """Return the events since the last call; keep them before the next output is taken."""
        events, self._events = self._events, []
        return events

    @property
    def due_at_s(self) -> float | None:
        """Time of the next `tick` if nothing is received before."""
        if self.is_over:
            return None
        if self.rate.is_pending and self.rate.due_at_s is not None:
            return max(self._busy_until_s, self.rate.due_at_s)
        if self._sending.is_waiting:
            return self._busy_until_s
        due = (
            self._probe_at_s,
            self.rate.due_at_s,
            self._sending.due_at_s,
            self._acknowledge_at_s,
            self._sent_at_s + KEEP_ALIVE_S if self.is_holding else None,
        )
        return max(self._busy_until_s, min(at_s for at_s in due if at_s is not None))

    def end(self, reason: str) -> None:
        """The port is gone, or the agent lets go."""
        if not self.is_over:
            self.state = SessionState.DEAD
            self.reason = reason

    def _greet(self, now_s: float) -> None:
        if now_s < self._probe_at_s:
            return
        if self._unanswered >= HELLO_TRIES:
            self.end(self._overheard.sentence(self._path))
            return
        self._unanswered += 1
        self._probe_at_s = now_s + HELLO_INTERVAL_S
        if self.is_stopped:
            self.stop()
        self._emit(wire.HELLO, payload=hello_payload(self._nonce))

    def _change_rate(self, now_s: float) -> None:
        step = self.rate.step(now_s)
        if step is RateStep.OFFER:
            self._emit(wire.BAUD, payload=struct.pack(wire.BAUD_FORMAT, self.rate.wanted_baud))
        elif step is RateStep.PING:
            self._ping(now_s)
            self._probe_at_s = max(self._probe_at_s, now_s + TRIAL_PING_S)

    def _probe(self, now_s: float) -> None:
        if now_s < self._probe_at_s - PING_EARLY_S:
            return
        if self._unanswered >= MAX_UNANSWERED_PINGS:
            self.end("the board no longer answers")
            return
        self._unanswered += 1
        self._probe_at_s = now_s + PING_INTERVAL_S
        self._ping(now_s)

    def _keep_alive(self, now_s: float) -> None:
        """Send a keep-alive, last of all, because any other frame serves as well."""
        is_late = now_s >= self._sent_at_s + KEEP_ALIVE_S
        if self.is_holding and is_late and not self._output:
            self._ping(now_s)

    def _ping(self, now_s: float) -> None:
        self._pinged_at_s, self._pinged_ms = now_s, _clock_ms(now_s)
        self._emit(wire.PING, payload=struct.pack(wire.PING_FORMAT, self._pinged_ms))

    def _send(self, now_s: float) -> None:
        due_at_s = self._sending.due_at_s
        if due_at_s is not None and now_s >= due_at_s:
            self._resend(self._sending.resend_due(now_s))
            if self._sending.is_hopeless:
                self.end("the board does not acknowledge frames")
        if self.is_over:
            return
        while (frame := self._sending.next_frame(now_s)) is not None:
            self._emit(frame.kind, frame.sequence, frame.payload)
        if self._acknowledge_at_s is not None and now_s >= self._acknowledge_at_s:
            self._emit(wire.ACK)

    def _on_frame(self, frame: Frame, now_s: float) -> None:
        if frame.kind in {wire.HELLO, wire.HELLO_ACK}:
            self._on_greeting(frame, now_s)
            return
        if self.state is not SessionState.OPEN:
            return
        self.counters.frames_received += 1
        self._heard(now_s)
        self._sending.credit_bytes = frame.credit * wire.CREDIT_UNIT_BYTES
        round_trip_s = self._sending.acknowledge(frame.ack, now_s)
        if round_trip_s is not None:
            self.counters.round_trips.add(round_trip_s)
        if frame.kind not in _SEQUENCED or self._is_new(frame, now_s):
            self._react(frame, now_s)

    def _react(self, frame: Frame, now_s: float) -> None:
        match frame.kind:
            case wire.ANSWER:
                self._on_answer(frame.payload)
            case wire.NAK:
                self._resend(self._sending.resend_missing(now_s))
            case wire.PING:
                self._on_ping(frame.payload, now_s)
            case wire.BAUD_ACK:
                self._on_rate(frame.payload, now_s)
            case wire.BUSY:
                self._on_busy(frame.payload, now_s)
            case wire.PONG:
                self._on_pong(frame.payload, now_s)
            case wire.EVENT:
                self._events.append(frame.payload)
            case _ if frame.kind != wire.ACK:
                # Of an acknowledgement the header is all
                self.counters.frames_ignored += 1

    def _on_greeting(self, frame: Frame, now_s: float) -> None:
        if frame.kind == wire.HELLO:
            self._overheard.is_echo = True
            return
        greeting = read_hello(frame.payload)
        if self.state is not SessionState.GREETING or greeting is None:
            return
        if greeting.nonce != self._nonce:
            return
        self.greeting = greeting
        if not greeting.is_understood:
            self.state = SessionState.REFUSED
            self.reason = greeting.refusal
            return
        self.state = SessionState.OPEN
        if self.is_stopped:
            self.stop()
        self._sending.credit_bytes = greeting.window_bytes
        self._heard(now_s)

    def _is_new(self, frame: Frame, now_s: float) -> bool:
        arrival = self._receiving.take(frame.sequence)
        self._acknowledge_at_s = now_s + ACK_DELAY_S
        if arrival is FrameArrival.REPEATED:
            self.counters.frames_repeated += 1
        elif arrival is FrameArrival.GAP:
            self.counters.frames_missed += 1
            if now_s >= self._nak_after_s:
                self._nak_after_s = now_s + NAK_INTERVAL_S
                self._emit(wire.NAK)
        return arrival is FrameArrival.NEW

    def _on_ping(self, payload: bytes, now_s: float) -> None:
        if len(payload) >= struct.calcsize(wire.PING_FORMAT):
            (asked_ms,) = struct.unpack_from(wire.PING_FORMAT, payload)
            answer = struct.pack(wire.PONG_FORMAT, asked_ms, _clock_ms(now_s))
            self._emit(wire.PONG, payload=answer)

    def _on_pong(self, payload: bytes, now_s: float) -> None:
        if len(payload) >= struct.calcsize(wire.PONG_FORMAT):
            asked_ms, device_ms = struct.unpack_from(wire.PONG_FORMAT, payload)
            # Only the last one: milliseconds on the wire are too coarse to tell the time by
            if asked_ms == self._pinged_ms:
                self.counters.round_trips.add(now_s - self._pinged_at_s)
                self.device_clock.note(self._pinged_at_s, now_s, device_ms)

    def _on_busy(self, payload: bytes, now_s: float) -> None:
        if len(payload) >= struct.calcsize(wire.BUSY_FORMAT):
            (busy_ms,) = struct.unpack_from(wire.BUSY_FORMAT, payload)
            self._busy_until_s = now_s + min(busy_ms / 1000, MAX_BUSY_S)
            self._probe_at_s = self._busy_until_s + PING_INTERVAL_S
            self.rate.excuse(self._busy_until_s)

    def _on_rate(self, payload: bytes, now_s: float) -> None:
        if len(payload) >= struct.calcsize(wire.BAUD_FORMAT):
            self.rate.answered(struct.unpack_from(wire.BAUD_FORMAT, payload)[0], now_s)

    def _on_answer(self, payload: bytes) -> None:
        head = struct.calcsize(wire.ANSWER_FORMAT)
        if len(payload) >= head:
            request_id, code = struct.unpack_from(wire.ANSWER_FORMAT, payload)
            self._answers.append(BoardAnswer(request_id, code, payload[head:]))

    def _heard(self, now_s: float) -> None:
        self._unanswered = 0
        self._probe_at_s = now_s + PING_INTERVAL_S
        # Whoever speaks is done with what kept it from listening
        self._busy_until_s = min(self._busy_until_s, now_s)
        if self.rate.heard(now_s) and self.is_stopped:
            # It was said at a rate that the board may not have had
            self.stop()

    def _resend(self, frames: list[Outgoing]) -> None:
        for frame in frames:
            self.counters.frames_resent += 1
            self._emit(frame.kind, frame.sequence, frame.payload)

    def _emit(self, kind: int, sequence: int = 0, payload: bytes = b"") -> None:
        ack = self._receiving.expected
        length = self._encoder.encode(kind, sequence, ack, OWN_CREDIT, payload)
        self._output.append(bytes(self._encoder.wire[:length]))
        self.counters.frames_sent += 1
        self._acknowledge_at_s = None


def _clock_ms(now_s: float) -> int:
    return int(now_s * 1000) & _CLOCK_MASK
