"""A board in Python at the other end of a fake port or of a pty: it keeps the wire format's rules.

Not the firmware: small enough to misbehave on demand, and a record of what the world saw.
"""

import asyncio
import hashlib
import json
import struct
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent.link import frame as wire
from agent.link.frame import Decoder, Frame, encode
from tests.fakes.board import MANIFEST_JSON
from tests.fakes.ports import Deliver

RETRANSMIT_S = 0.1
MAX_TRIES = 7
LEASE_S = 2.0
WRITE, READ, ADC, TEMPERATURE, PULSE = 16, 17, 18, 19, 20


def manifest_with_pulse() -> bytes:
    """The fake board's manifest and a method that must not be repeated."""
    manifest: dict[str, Any] = json.loads(MANIFEST_JSON)
    manifest["methods"].append(
        {
            "id": PULSE,
            "name": "pulse",
            "about": "Switch an output on and off once.",
            "arguments": [{"name": "pin", "format": "B", "pins": "out"}],
            "result": [{"name": "count", "format": "I"}],
            "safety": "actuate",
            "lease": False,
        }
    )
    return json.dumps(manifest, ensure_ascii=False).encode()


def hello_ack(nonce: int, **said: Any) -> bytes:
    """The payload of a HELLO_ACK; `said` replaces what a well board would say."""
    name = said.get("name", b"scripted")
    return (
        struct.pack(
            wire.HELLO_ACK_FORMAT,
            nonce,
            said.get("version", wire.PROTOCOL_VERSION),
            *(0, 1, 0),
            42,
            said.get("reset_cause", 1),
            said.get("boot_count", 1),
            said.get("window_bytes", 1024),
            said.get("flash_class", 0),
            said.get("manifest_hash", bytes(8)),
            said.get("configuration_hash", bytes(8)),
            said.get("unique_id", bytes(range(12))),
            len(name),
        )
        + name
    )


def _hash_of(configuration: bytes) -> bytes:
    return hashlib.sha256(configuration).digest()[:8] if configuration else bytes(8)


@dataclass
class ScriptedBoard:
    """A board whose whole state a test may look at and change.

    Args:
        record: every change of an output with its time.
        requests: every request that was run, in order, with its arguments.
    """

    manifest: bytes = field(default_factory=manifest_with_pulse)
    unique_id: bytes = bytes(range(12))
    protocol: int = wire.PROTOCOL_VERSION
    window_bytes: int = 1024
    boot_count: int = 1
    # What is wired to it, as it was committed last
    configuration: bytes = b""
    # Why the outputs are locked, over sessions
    reason: int = wire.REASON_NONE
    reset_cause: int = 1
    # Misbehaviour on demand
    is_silent: bool = False
    # So many emergency stops are lost on their way
    stops_unheard: int = 0
    ignores_requests: bool = False
    answer_delay_s: float = 0.0
    busy_ms: int = 0
    announced_hash: bytes | None = None
    packed: bytes | None = None
    overrides: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    # What the world saw
    record: list[tuple[float, int, int]] = field(default_factory=list)
    requests: list[tuple[int, bytes]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    greetings: int = 0
    outputs: dict[int, int] = field(default_factory=dict)
    pulses: int = 0

    def __post_init__(self) -> None:
        self.nonce = 0
        self._leases: dict[int, asyncio.TimerHandle] = {}
        self._send: Deliver = lambda _data: None
        self._start_session(0)

    def attach(self, send: Deliver) -> None:
        self._send = send
        self._decoder.reset()

    def receive(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            self.frames.append(frame)
            if not self.is_silent:
                self._on_frame(frame)

    def reset(self, cause: int = 2) -> None:
        """As the reset button would: everything forgotten, outputs safe."""
        self.boot_count += 1
        self.reset_cause = cause
        self._start_session(0)

    def emit(self, kind: int, payload: bytes = b"", sequence: int = 0) -> None:
        credit = min(255, self.window_bytes // wire.CREDIT_UNIT_BYTES)
        frame = Frame(kind, sequence, self._expected, credit, payload)
        self._send(encode(frame, self.nonce))

    def emit_sequenced(self, kind: int, payload: bytes) -> None:
        """Send reliably."""
        self._unacknowledged.append((self._next_sequence, kind, payload))
        self.emit(kind, payload, self._next_sequence)
        self._next_sequence = (self._next_sequence + 1) % 256
        if self._timer is None:
            self._arm()

    def _start_session(self, nonce: int) -> None:
        self.nonce = nonce
        self._decoder = Decoder(nonce)
        self._expected = 0
        self._next_sequence = 0
        self._unacknowledged: deque[tuple[int, int, bytes]] = deque()
        self._tries = 0
        self._timer: asyncio.TimerHandle | None = None
        self._replies: OrderedDict[int, bytes] = OrderedDict()
        for pin in list(self.outputs):
            self._set(pin, 0)

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind == wire.HELLO:
            self._greet(frame.payload)
            return
        self._acknowledged(frame.ack)
        if frame.kind == wire.PING:
            self.emit(wire.PONG, frame.payload + struct.pack("<I", 0))
        elif frame.kind == wire.NAK:
            self._retransmit()
        elif frame.kind == wire.ESTOP and self.stops_unheard:
            self.stops_unheard -= 1
        elif frame.kind == wire.ESTOP:
            self.reason = wire.REASON_ESTOP
            self._make_safe(b"")
        elif frame.kind == wire.REQUEST and not self.ignores_requests:
            self._take(frame)

    def _greet(self, payload: bytes) -> None:
        low, high, nonce = struct.unpack_from(wire.HELLO_FORMAT, payload)
        self.greetings += 1
        if nonce != self.nonce:
            self._start_session(nonce)
        version = self.protocol if low <= self.protocol <= high else 0
        manifest_hash = self.announced_hash or hashlib.sha256(self.manifest).digest()[:8]
        self.emit(
            wire.HELLO_ACK,
            hello_ack(
                nonce,
                version=version,
                reset_cause=self.reset_cause,
                boot_count=self.boot_count,
                window_bytes=self.window_bytes,
                manifest_hash=manifest_hash,
                configuration_hash=_hash_of(self.configuration),
                unique_id=self.unique_id,
            ),
        )

    def _take(self, frame: Frame) -> None:
        ahead = (frame.sequence - self._expected) % 256
        if ahead:
            self.emit(wire.NAK if ahead < 128 else wire.ACK)
            return
        self._expected = (self._expected + 1) % 256
        if self.busy_ms:
            self.emit(wire.BUSY, struct.pack(wire.BUSY_FORMAT, self.busy_ms))
        method, request_id, _deadline_ms = struct.unpack_from(wire.REQUEST_FORMAT, frame.payload)
        arguments = frame.payload[struct.calcsize(wire.REQUEST_FORMAT) :]
        if request_id not in self._replies:
            self._replies[request_id] = self._run(method, request_id, arguments)
        while len(self._replies) > 16:
            self._replies.popitem(last=False)
        self._answer(self._replies[request_id])

    def _answer(self, reply: bytes) -> None:
        if not self.answer_delay_s:
            self.emit_sequenced(wire.ANSWER, reply)
            return
        self.emit(wire.ACK)
        loop = asyncio.get_running_loop()
        loop.call_later(self.answer_delay_s, self.emit_sequenced, wire.ANSWER, reply)

    def _run(self, method: int, request_id: int, arguments: bytes) -> bytes:
        self.requests.append((method, arguments))
        code, result = self.overrides.get(method) or self._methods()[method](arguments)
        return struct.pack(wire.ANSWER_FORMAT, request_id, code) + result

    def _methods(self) -> dict[int, Callable[[bytes], tuple[int, bytes]]]:
        return {
            wire.METHOD_MANIFEST: self._manifest_chunk,
            wire.METHOD_LEASE_RENEW: self._renew,
            wire.METHOD_SAFE: self._make_safe,
            wire.METHOD_STATUS: self._status,
            wire.METHOD_CLEAR: self._clear,
            wire.METHOD_CONFIG_BEGIN: self._config_begin,
            wire.METHOD_CONFIG_WRITE: self._config_write,
            wire.METHOD_CONFIG_COMMIT: self._config_commit,
            wire.METHOD_CONFIG_READ: self._config_read,
            WRITE: self._write,
            READ: lambda arguments: (0, bytes([self.outputs.get(arguments[0], 0)])),
            ADC: lambda _arguments: (0, struct.pack("<H", 1234)),
            TEMPERATURE: lambda _arguments: (0, struct.pack("<h", 245)),
            PULSE: self._pulse,
        }

    def _manifest_chunk(self, arguments: bytes) -> tuple[int, bytes]:
        (offset,) = struct.unpack("<I", arguments)
        packed = zlib.compress(self.manifest) if self.packed is None else self.packed
        return 0, struct.pack("<I", len(packed)) + packed[offset : offset + 200]

    def _renew(self, arguments: bytes) -> tuple[int, bytes]:
        (mask,) = struct.unpack("<I", arguments)
        granted = 0
        for pin in list(self._leases):
            if mask >> pin & 1:
                self._lease(pin)
            granted |= 1 << pin
        return 0, struct.pack("<I", granted)

    def _make_safe(self, _arguments: bytes) -> tuple[int, bytes]:
        for pin in list(self.outputs):
            self._set(pin, 0)
        return 0, b""

    def _status(self, _arguments: bytes) -> tuple[int, bytes]:
        state = wire.STATE_SAFE if self.reason else wire.STATE_IDLE
        return 0, struct.pack(wire.STATUS_FORMAT, state, 0, 0, 0, 0, self.reason)

    def _clear(self, arguments: bytes) -> tuple[int, bytes]:
        if self.reason and arguments[0] != self.reason:
            return wire.OUT_OF_RANGE, b"it was another reason"
        self.reason = wire.REASON_NONE
        return 0, bytes([wire.STATE_IDLE])

    def _config_begin(self, arguments: bytes) -> tuple[int, bytes]:
        length, self._coming_hash = struct.unpack(wire.CONFIG_BEGIN_FORMAT, arguments)
        self._coming = bytearray(length)
        return 0, b""

    def _config_write(self, arguments: bytes) -> tuple[int, bytes]:
        (at,) = struct.unpack_from(wire.CONFIG_OFFSET_FORMAT, arguments)
        self._coming[at : at + len(arguments) - 4] = arguments[4:]
        return 0, b""

    def _config_commit(self, arguments: bytes) -> tuple[int, bytes]:
        if not _hash_of(bytes(self._coming)) == self._coming_hash == arguments:
            return wire.BAD_REQUEST, b"begin again"
        self._make_safe(b"")
        self.configuration = bytes(self._coming)
        return 0, b""

    def _config_read(self, arguments: bytes) -> tuple[int, bytes]:
        (at,) = struct.unpack(wire.CONFIG_OFFSET_FORMAT, arguments)
        total = struct.pack("<I", len(self.configuration))
        return 0, total + self.configuration[at : at + 200]

    def _write(self, arguments: bytes) -> tuple[int, bytes]:
        pin, value = arguments
        if self.reason:
            return wire.UNSAFE_STATE, b"locked"
        self._set(pin, value)
        return 0, bytes([value])

    def _pulse(self, _arguments: bytes) -> tuple[int, bytes]:
        self.pulses += 1
        return 0, struct.pack("<I", self.pulses)

    def _set(self, pin: int, value: int) -> None:
        if self.outputs.get(pin, 0) != value:
            self.record.append((asyncio.get_running_loop().time(), pin, value))
        self.outputs[pin] = value
        if pin in self._leases:
            self._leases.pop(pin).cancel()
        if value:
            self._lease(pin)

    def _lease(self, pin: int) -> None:
        if pin in self._leases:
            self._leases[pin].cancel()
        loop = asyncio.get_running_loop()
        self._leases[pin] = loop.call_later(LEASE_S, self._set, pin, 0)

    def _acknowledged(self, ack: int) -> None:
        if not self._unacknowledged:
            return
        count = (ack - self._unacknowledged[0][0]) % 256
        if 0 < count <= len(self._unacknowledged):
            for _ in range(count):
                self._unacknowledged.popleft()
            self._tries = 0

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(RETRANSMIT_S, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._unacknowledged and self._tries < MAX_TRIES and not self.is_silent:
            self._tries += 1
            self._retransmit()
            self._arm()

    def _retransmit(self) -> None:
        for sequence, kind, payload in self._unacknowledged:
            self.emit(kind, payload, sequence)
