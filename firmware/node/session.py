# A session with the Pi: greeting, order, repetition, and the calls that arrive.
#
# Nothing that arrives raises, and nothing is taken into memory that was not there before.

import struct
from time import ticks_add, ticks_diff, ticks_ms

import frame
from micropython import const
from node.events import EVENT_BYTES, FRAMES
from node.replies import Replies
from node.sender import Sender

try:
    from node import codec
except SyntaxError:  # MicroPython makes no machine code here: a simulated board on 64-bit ARM
    import frame as codec  # type: ignore[no-redef]  # the same, and slower

_REQUEST_HEADER_BYTES = const(5)
_HELLO_BYTES = const(6)
# The configuration's hash in HELLO_ACK, behind everything that is there before it
_HASH_AT = const(28)
# Damage comes in bursts; one NAK for each burst
_NAK_LEAST_MS = const(20)
# Slots from here on are events', those before it answers'
_EVENT_SLOT = const(16)
_NOTHING = b""
_NO_RATE = b"\0\0\0\0"


class Session:
    def __init__(self, port, calls, system, greeting, window_bytes, events):
        self._port = port
        self._calls = calls
        self._system = system
        self._events = events
        self._greeting = greeting
        self._credit = window_bytes // frame.CREDIT_UNIT_BYTES
        self._encoder = codec.Encoder()
        self._decoder = codec.Decoder()
        self._replies = Replies()
        self._sender = Sender()
        self._expected = 0
        self._ack_due = False
        self._nak_ms = ticks_ms()
        self._pong = bytearray(8)
        self._busy = bytearray(2)
        # Looks after the rate of the line, once the Pi has asked for another
        self._rate = None
        self._heard_ms = 0

    @property
    def is_idle(self):
        if not self._is_alive:
            return True
        if self._ack_due or self._sender.next_slot() >= 0:
            return False
        return not self._events.is_ready or self._free_event_slot() < 0

    def receive(self, data, length, now_ms):
        decoder = self._decoder
        dropped = decoder.dropped
        at = 0
        while at < length:
            at = decoder.take(data, at, length)
            if decoder.complete:
                self._handle(decoder, now_ms)
        if decoder.dropped != dropped:
            self._complain(now_ms)

    def transmit(self, now_ms):
        if self._rate is not None:
            self._rate.tick(now_ms, self._heard_ms)
        # At most one answer, so that the outputs are looked after between two of them
        if not self._is_alive:
            return
        sender = self._sender
        sender.tick(now_ms)
        self._queue_event()
        slot = sender.next_slot()
        if slot >= 0 and not sender.dead:
            sequence = sender.mark_sent(now_ms)
            if slot < _EVENT_SLOT:
                self._send(frame.ANSWER, sequence, self._replies.payload(slot))
            else:
                self._send(frame.EVENT, sequence, self._events.payload(slot - _EVENT_SLOT))
        elif self._ack_due:
            self._send(frame.ACK, 0, _NOTHING)

    def announce_busy(self, milliseconds):
        # Nothing will be read for so long: whoever sends now would send for nothing
        if self._is_alive:
            struct.pack_into(frame.BUSY_FORMAT, self._busy, 0, milliseconds)
            self._send(frame.BUSY, 0, self._busy)
            # Silence counts from the end of it
            self._heard_ms = ticks_add(ticks_ms(), milliseconds)

    @property
    def _is_alive(self):
        return self._decoder.nonce != 0 and not self._sender.dead

    def _queue_event(self):
        if not self._events.is_ready:
            return
        slot = self._free_event_slot()
        if slot >= 0 and self._events.pack(slot - _EVENT_SLOT):
            self._sender.queue(slot, EVENT_BYTES)

    def _free_event_slot(self):
        # None free: as many events are on their way as may be
        if self._sender.has_room:
            for slot in range(_EVENT_SLOT, _EVENT_SLOT + FRAMES):
                if not self._sender.is_busy(slot):
                    return slot
        return -1

    def _handle(self, decoder, now_ms):
        kind = decoder.kind
        if kind == frame.HELLO:
            self._greet(decoder, now_ms)
        elif kind == frame.ESTOP:
            self._system.stop()
            if decoder.nonce:
                self._send(frame.ACK, 0, _NOTHING)
        elif self._is_alive:
            self._system.heard(now_ms)
            self._heard_ms = now_ms
            self._take(kind, decoder, now_ms)

    def _take(self, kind, decoder, now_ms):
        if kind == frame.REQUEST:
            self._note_header(decoder, now_ms)
            self._take_request(decoder, now_ms)
        elif kind == frame.ACK:
            self._note_header(decoder, now_ms)
        elif kind == frame.NAK:
            self._note_header(decoder, now_ms)
            self._sender.go_back(now_ms)
        elif kind == frame.PING:
            self._echo(decoder, now_ms)
        elif kind == frame.BAUD and decoder.size >= 4:
            self._change_rate(decoder.payload)

    def _change_rate(self, payload):
        if not self._port.baudrate:
            self._send(frame.BAUD_ACK, 0, _NO_RATE)
            return
        if self._rate is None:
            from node.rate import Rate  # noqa: PLC0415  - on demand

            self._rate = Rate(self._port)
        self._send(frame.BAUD_ACK, 0, self._rate.answer(payload))
        self._rate.begin()

    def _greet(self, decoder, now_ms):
        if decoder.size < _HELLO_BYTES:
            return
        lowest, highest, nonce = struct.unpack_from(frame.HELLO_FORMAT, decoder.payload, 0)
        if nonce == 0:
            return
        if nonce != decoder.nonce:
            version = frame.PROTOCOL_VERSION if lowest <= frame.PROTOCOL_VERSION <= highest else 0
            self._begin(nonce if version else 0)
            self._nak_ms = now_ms  # what came before the greeting is nobody's loss
            struct.pack_into("<IB", self._greeting, 0, nonce, version)
            end = _HASH_AT + len(self._system.configuration_hash)
            self._greeting[_HASH_AT:end] = self._system.configuration_hash
        self._send(frame.HELLO_ACK, 0, self._greeting)

    def _begin(self, nonce):
        self._calls.begin_session(nonce != 0)
        self._decoder.nonce = nonce
        self._encoder.nonce = nonce
        self._expected = 0
        self._ack_due = False
        self._sender.reset()
        self._replies.clear()

    def _note_header(self, decoder, now_ms):
        self._sender.credit_bytes = decoder.credit * frame.CREDIT_UNIT_BYTES
        self._sender.acknowledge(decoder.ack, now_ms)

    def _take_request(self, decoder, now_ms):
        # One of four things arrived:
        # 1 - The next request: it is run.
        # 2 - The next request, and no room for its answer: left to be sent again.
        # 3 - One that was taken before: its acknowledgement was lost.
        # 4 - One from beyond a gap: the one that is missing is asked for.
        behind = (self._expected - decoder.sequence) & 0xFF
        if behind == 0:
            if self._sender.has_room:
                self._expected = (self._expected + 1) & 0xFF
                self._ack_due = True
                self._run(decoder)
        elif behind < 128:
            self._ack_due = True
        else:
            self._complain(now_ms)

    def _run(self, decoder):
        if decoder.size < _REQUEST_HEADER_BYTES:
            return  # no request id to answer to
        payload = decoder.payload
        # The deadline counts from arrival; nothing waits here, so it cannot pass
        method, request_id, _deadline_ms = struct.unpack_from(frame.REQUEST_FORMAT, payload, 0)
        replies = self._replies
        slot = replies.find(request_id)
        if slot < 0:
            slot = replies.claim(self._sender.is_busy)
            calls = self._calls
            self._system.frames = decoder.frames
            self._system.dropped = decoder.dropped
            size = calls.run(method, payload[_REQUEST_HEADER_BYTES:], replies.slots[slot])
            replies.fill(slot, request_id, calls.code, size)
        self._sender.queue(slot, replies.size(slot))

    def _echo(self, decoder, now_ms):
        if decoder.size >= 4:
            self._pong[:4] = decoder.payload[:4]
            struct.pack_into("<I", self._pong, 4, self._system.uptime_ms(now_ms))
            self._send(frame.PONG, 0, self._pong)

    def _complain(self, now_ms):
        # Not a plain comparison: after days without one the difference is negative
        if self._is_alive and not 0 <= ticks_diff(now_ms, self._nak_ms) < _NAK_LEAST_MS:
            self._nak_ms = now_ms
            self._send(frame.NAK, 0, _NOTHING)

    def _send(self, kind, sequence, payload):
        encoder = self._encoder
        length = encoder.encode(kind, sequence, self._expected, self._credit, payload)
        self._port.write(encoder.wire, length)
        if kind != frame.HELLO_ACK:
            self._ack_due = False  # every header acknowledges
