"""Requirements of every board. A test that a rig cannot run says what the rig lacks."""

import hashlib
import struct
import time
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim

GRACE_MS = 50
SILENCE_MS = 500
RATE_SILENCE_S = 1.0
# Reading back over 115200 baud takes a few milliseconds on each side
READ_MS = 30


def method(manifest: dict[str, Any], name: str) -> int:
    found = [one["id"] for one in manifest["methods"] if one["name"] == name]
    if not found:
        pytest.skip(f"{manifest['board']} has no {name}")
    return int(found[0])


def pins(manifest: dict[str, Any], capability: str) -> list[dict[str, Any]]:
    found = [pin for pin in manifest["pins"] if capability in pin["can"]]
    if not found:
        pytest.skip(f"{manifest['board']} has no pin that can {capability}")
    return found


def led(manifest: dict[str, Any]) -> dict[str, Any]:
    """The one output that may be switched whatever is wired to the board."""
    found = [pin for pin in pins(manifest, "out") if pin["name"] == "led"]
    if not found:
        pytest.skip(f"{manifest['board']} has no led")
    return found[0]


def write(wire: Wire, manifest: dict[str, Any], pin: dict[str, Any], value: int) -> int:
    arguments = bytes([pin["index"], value])
    return wire.call(method(manifest, "gpio_write"), arguments)[0]


def read(wire: Wire, manifest: dict[str, Any], pin: dict[str, Any]) -> int:
    return wire.call(method(manifest, "gpio_read"), bytes([pin["index"]]))[0]


def test_the_board_greets(wire: Wire) -> None:
    assert wire.name
    assert wire.greeting[1] == codec.PROTOCOL_VERSION
    assert any(wire.greeting[12]), "the unique id is all zero"
    assert wire.greeting[8] >= 256, "the receive window does not hold one frame"


def test_the_manifest_is_the_one_that_was_announced(wire: Wire) -> None:
    assert hashlib.sha256(wire.manifest()).digest()[:8] == wire.greeting[10]


def test_the_led_is_written_and_read_back(wire: Wire, manifest: dict[str, Any]) -> None:
    pin = led(manifest)
    assert write(wire, manifest, pin, 1) == 1
    assert read(wire, manifest, pin) == 1
    assert write(wire, manifest, pin, 0) == 0
    assert read(wire, manifest, pin) == 0


def test_an_input_reads_off_or_on(wire: Wire, manifest: dict[str, Any]) -> None:
    for pin in pins(manifest, "in"):
        assert read(wire, manifest, pin) in {0, 1}, pin["name"]


def test_every_analog_pin_measures_within_the_supply(wire: Wire, manifest: dict[str, Any]) -> None:
    number = method(manifest, "adc_read")
    for pin in pins(manifest, "adc"):
        (millivolts,) = struct.unpack("<H", wire.call(number, bytes([pin["index"]])))
        assert 0 <= millivolts <= 3400, pin["name"]


def test_the_temperature_is_one_of_a_room_with_a_chip_in_it(
    wire: Wire, manifest: dict[str, Any]
) -> None:
    (tenths,) = struct.unpack("<h", wire.call(method(manifest, "mcu_temperature")))
    assert 0 <= tenths / 10 <= 70


def test_a_lease_ends_with_the_output_safe(wire: Wire, manifest: dict[str, Any]) -> None:
    """By the board's own reading; what the wire itself did is the next test's."""
    pin = led(manifest)
    assert write(wire, manifest, pin, 1) == 1
    wire.rest((pin["lease_ms"] - GRACE_MS - READ_MS) / 1000)
    assert read(wire, manifest, pin) == 1
    wire.rest((2 * GRACE_MS + 2 * READ_MS) / 1000)
    assert read(wire, manifest, pin) == pin["safe"]


def test_a_lease_ends_in_time_as_seen_from_outside(
    wire: Wire, manifest: dict[str, Any], simulated: BoardSim | None
) -> None:
    if simulated is None:
        pytest.skip("the rig has no logic analyser or second board on the led's pin")
    pin = led(manifest)
    before = len(simulated.changes("led"))
    write(wire, manifest, pin, 1)
    wire.rest((pin["lease_ms"] + 2 * GRACE_MS) / 1000)
    (_, began_ms), (value, ended_ms) = simulated.changes("led")[before:]
    assert value == pin["safe"]
    assert ended_ms - began_ms <= pin["lease_ms"] + GRACE_MS


def test_estop_makes_the_led_safe_and_locks_it(wire: Wire, manifest: dict[str, Any]) -> None:
    pin = led(manifest)
    write(wire, manifest, pin, 1)
    wire.send(codec.ESTOP)
    assert read(wire, manifest, pin) == pin["safe"]
    with pytest.raises(Refused) as refused:
        write(wire, manifest, pin, 1)
    assert refused.value.code == codec.UNSAFE_STATE
    wire.greet()
    assert wire.status()[5] == codec.REASON_ESTOP
    wire.call(codec.METHOD_CLEAR, bytes([codec.REASON_ESTOP]))
    assert write(wire, manifest, pin, 1) == 1


def test_a_silent_host_is_a_dead_one(wire: Wire, manifest: dict[str, Any]) -> None:
    pin = led(manifest)
    write(wire, manifest, pin, 1)
    time.sleep((SILENCE_MS + GRACE_MS) / 1000)
    assert read(wire, manifest, pin) == pin["safe"]


def test_a_new_session_makes_the_led_safe(wire: Wire, manifest: dict[str, Any]) -> None:
    pin = led(manifest)
    write(wire, manifest, pin, 1)
    wire.greet()
    assert read(wire, manifest, pin) == pin["safe"]


def test_the_line_becomes_faster_and_comes_back_by_itself(wire: Wire) -> None:
    wire.send(codec.BAUD, struct.pack(codec.BAUD_FORMAT, 921_600))
    answers = [frame for frame in wire.frames(0.3) if frame.kind == codec.BAUD_ACK]
    (agreed,) = struct.unpack(codec.BAUD_FORMAT, answers[0].payload)
    if not agreed:
        pytest.skip(f"{wire.name} is on USB or on its console: its rate cannot be changed")
    began_with, wire.port.baudrate = wire.port.baudrate, agreed
    for _ in range(20):
        wire.status()
    time.sleep(RATE_SILENCE_S + 2 * GRACE_MS / 1000)
    wire.port.baudrate = began_with
    wire.status()
