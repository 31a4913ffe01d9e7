"""A board with one device of every kind wired to it, for the tests beside this file."""

import hashlib
import json
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from agent.link import frame as codec
from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim

T = TypeVar("T")
PWM_WRITE = 20
SERVO_WRITE = 21
COUNTER_READ = 22
COUNTER_RESET = 23
ENCODER_READ = 24
CELSIUS_READ = 25
CLIMATE_READ = 26
PIXELS_WRITE = 27
I2C_SCAN = 28
I2C_READ = 29
I2C_WRITE = 30
SPI_TRANSFER = 31
UART_WRITE = 32
UART_READ = 33
SUPPLY_READ = 34
UPDATE_BEGIN, UPDATE_WRITE = 1, 2
RELEASED = -1
CHUNK_BYTES = 200
# The slowest sensor, several times
MEASURE_LIMIT_S = 10.0

ENTRIES: tuple[dict[str, Any], ...] = (
    {"name": "tank", "kind": "ds18b20", "pin": "PB12"},
    {"name": "shed", "kind": "dht22", "pin": "PB13"},
    {"name": "room", "kind": "bme280", "pin": "PB6", "sda": "PB7"},
    {"name": "bus", "kind": "i2c", "pin": "PB6", "sda": "PB7"},
    {"name": "fan", "kind": "pwm", "pin": "PA8", "safe": 20, "lease_ms": 400},
    {"name": "arm", "kind": "servo", "pin": "PA6", "lease_ms": 400},
    {"name": "gate", "kind": "servo", "pin": "PA7", "safe": 45, "degrees": 90},
    {"name": "flow", "kind": "counter", "pin": "PB14"},
    {"name": "bell", "kind": "counter", "pin": "PB3", "debounce_us": 20_000},
    {"name": "knob", "kind": "encoder", "pin": "PB4", "pin_b": "PB5"},
    {"name": "ring", "kind": "neopixel", "pin": "PB15", "count": 8, "brightest": 200},
    {"name": "shift", "kind": "spi", "pin": "PA4", "sck": "PA5", "mosi": "PA10", "miso": "PA3"},
    {"name": "gps", "kind": "uart", "pin": "PA9", "uart": 1},
)
INDEX = {
    name: len(board_file("simulated").PINS) + at
    for at, name in enumerate(str(entry["name"]) for entry in ENTRIES)
}
INDEX |= {row["name"]: at for at, row in enumerate(board_file("simulated").PINS)}


def configure(wire: Wire, entries: Sequence[Mapping[str, Any]] = ENTRIES) -> None:
    """Give the board these entries, as the agent does."""
    pins = {"v": 1, "pins": list(entries)}
    text = json.dumps(pins, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).digest()[:8]
    wire.call(codec.METHOD_CONFIG_BEGIN, struct.pack("<I", len(text)) + digest)
    for at in range(0, len(text), CHUNK_BYTES):
        piece = text[at : at + CHUNK_BYTES]
        wire.call(codec.METHOD_CONFIG_WRITE, struct.pack("<I", at) + piece)
    wire.call(codec.METHOD_CONFIG_COMMIT, digest)


def update(wire: Wire, action: int, arguments: bytes = b"") -> bytes:
    """Run an action of an update over the link."""
    return wire.call(codec.METHOD_UPDATE, bytes([action]) + arguments)


def begin_update(wire: Wire, content: bytes) -> int:
    """Return the offset from which the board wants that image, once its slot is erased."""
    arguments = struct.pack("<I", len(content)) + hashlib.sha256(content).digest()
    while True:
        try:
            return int(struct.unpack("<I", update(wire, UPDATE_BEGIN, arguments))[0])
        except Refused as refused:
            if refused.code != codec.BUSY_CODE:
                raise


def send_update(wire: Wire, content: bytes) -> None:
    """Send that image."""
    offset = begin_update(wire, content)
    while offset < len(content):
        arguments = struct.pack("<I", offset) + content[offset : offset + CHUNK_BYTES]
        (offset,) = struct.unpack("<I", update(wire, UPDATE_WRITE, arguments))


def ask(wire: Wire, method: int, name: str, arguments: bytes = b"") -> bytes:
    """Call a method of the device with that name."""
    return wire.call(method, bytes([INDEX[name]]) + arguments)


def refusal(wire: Wire, method: int, name: str, arguments: bytes = b"") -> tuple[int, str]:
    """The code and the words with which it refuses; code 0 is that it does not."""
    try:
        ask(wire, method, name, arguments)
    except Refused as refused:
        return refused.code, refused.text
    return 0, ""


def measured(wire: Wire, method: int, name: str, layout: str) -> tuple[int, ...]:
    """The result, once the device has one."""
    until_s = time.monotonic() + MEASURE_LIMIT_S
    while True:
        code, text = refusal(wire, method, name)
        if not code:
            return struct.unpack(layout, ask(wire, method, name))
        assert code == codec.BUSY_CODE, text
        assert time.monotonic() < until_s, text
        wire.rest(0.05)


def until(wire: Wire, look: Callable[[], T], wanted: T) -> T:
    """What is seen in the end: what is wanted, or what is still there when the time is over."""
    until_s = time.monotonic() + MEASURE_LIMIT_S
    while (seen := look()) != wanted and time.monotonic() < until_s:
        wire.rest(0.05)
    return seen


def events(board: BoardSim, kind: str, name: str) -> list[dict[str, object]]:
    return [one for one in board.record() if one["event"] == kind and one["name"] == name]


def change(board: BoardSim, name: str, **changes: object) -> None:
    assert board.order({"devices": {name: changes}}) == {"ok": True}
