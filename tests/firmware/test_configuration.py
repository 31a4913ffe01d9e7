"""The configuration as the board takes, keeps and obeys it, in the real interpreter."""

import hashlib
import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.conftest import simulated
from tests.firmware.methods import GPIO_READ, GPIO_WRITE, OFF, ON, PINS
from tests.waits import wait_until_sync

CHUNK_BYTES = 200
# For what comes by itself, also on a busy machine
PATIENCE_S = 20.0
FLASH = "flash.bin"
NONE = bytes(8)
FIRST = len(board_file("simulated").PINS)
VALVE, LEVEL = bytes([FIRST]), bytes([FIRST + 1])
GARDEN: list[dict[str, Any]] = [
    {"name": "valve", "kind": "output", "pin": "PB0", "active_low": True, "max_on_ms": 400}
    | {"min_off_ms": 300, "needs": [["level_ok", 1]], "lease_ms": 1000},
    {"name": "level_ok", "kind": "input", "pin": "PB5"},
]


def packed(entries: Any) -> tuple[bytes, bytes]:
    text = json.dumps({"v": 1, "pins": entries}, sort_keys=True, separators=(",", ":")).encode()
    return text, hashlib.sha256(text).digest()[:8]


def upload(wire: Wire, text: bytes, digest: bytes) -> None:
    wire.call(codec.METHOD_CONFIG_BEGIN, struct.pack("<I8s", len(text), digest))
    for at in range(0, len(text), CHUNK_BYTES):
        piece = struct.pack("<I", at) + text[at : at + CHUNK_BYTES]
        wire.call(codec.METHOD_CONFIG_WRITE, piece)


def configure(wire: Wire, entries: Any) -> bytes:
    text, digest = packed(entries)
    upload(wire, text, digest)
    wire.call(codec.METHOD_CONFIG_COMMIT, digest)
    return digest


def downloaded(wire: Wire) -> bytes:
    text, total = b"", 1
    while len(text) < total:
        part = wire.call(codec.METHOD_CONFIG_READ, struct.pack("<I", len(text)))
        total = struct.unpack_from("<I", part)[0]
        text += part[4:]
    return text


def pin_events(board: BoardSim) -> list[tuple[str, int]]:
    return [(one["name"], one["value"]) for one in board.record() if one["event"] == "pin"]


def announced(wire: Wire) -> bytes:
    wire.greet()
    return wire.configuration_hash


@pytest.fixture
def garden(own_board: BoardSim) -> Any:
    """A configured board, greeted, whose valve has had its rest."""
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, GARDEN)
        time.sleep(0.3)
        wire.greet()
        yield own_board, wire


def test_only_pins_that_no_entry_has_are_free(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        manifest = json.loads(wire.manifest())
        assert wire.free_pins(manifest) == manifest["pins"]
        taken = next(pin for pin in manifest["pins"] if pin["can"] == ["in", "out"])
        configure(wire, [{"name": "lamp", "kind": "output", "pin": taken["pin"]}])
        free = wire.free_pins(manifest)
        assert free == [pin for pin in manifest["pins"] if pin != taken]
        for pin in free:
            if "in" in pin["can"]:
                assert wire.call(GPIO_READ, bytes([pin["index"]]))[0] in {0, 1}


def test_a_configured_pin_takes_the_place_of_the_boards_own(garden: Any) -> None:
    board, wire = garden
    assert wire.status()[0] == codec.STATE_CONFIGURED
    assert announced(wire) == packed(GARDEN)[1]
    assert downloaded(wire) == packed(GARDEN)[0]
    with pytest.raises(Refused) as refused:
        wire.call(GPIO_WRITE, PINS["pump"] + ON)
    assert refused.value.code == codec.BAD_PIN
    board.set(level_ok=1)
    assert wire.call(GPIO_WRITE, VALVE + ON) == ON
    assert board.record()[-1]["level"] == 0
    assert wire.call(GPIO_READ, VALVE) == wire.call(GPIO_READ, LEVEL) == ON


def test_an_interlock_that_is_lost_ends_what_it_allowed(garden: Any) -> None:
    board, wire = garden
    with pytest.raises(Refused, match="valve needs level_ok on") as refused:
        wire.call(GPIO_WRITE, VALVE + ON)
    assert refused.value.code == codec.INTERLOCK
    board.set(level_ok=1)
    wire.call(GPIO_WRITE, VALVE + ON)
    board.set(level_ok=0)
    wire.rest(0.05)
    assert wire.call(GPIO_READ, VALVE) == OFF


def test_an_input_that_bounces_changes_once_and_when_it_is_quiet(own_board: BoardSim) -> None:
    # Long beside the rests, which a busy machine stretches
    door = {"name": "door", "kind": "input", "pin": "PB5", "debounce_ms": 800}
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        configure(wire, [door])
        own_board.set(door=1)
        wire.rest(0.1)
        assert wire.call(GPIO_READ, VALVE) == OFF
        own_board.set(door=0)
        wire.rest(0.05)
        own_board.set(door=1)
        wire.rest(0.15)
        assert wire.call(GPIO_READ, VALVE) == OFF
        patience_s = time.monotonic() + PATIENCE_S
        while wire.call(GPIO_READ, VALVE) != ON:
            assert time.monotonic() < patience_s
            wire.rest(0.05)


def test_the_longest_time_ends_it_and_the_shortest_rest_follows(garden: Any) -> None:
    board, wire = garden
    board.set(level_ok=1)
    wire.call(GPIO_WRITE, VALVE + ON)

    def has_ended() -> bool:
        wire.call(codec.METHOD_LEASE_RENEW, b"\xff\xff\xff\xff")
        return board.value("valve") == 0

    wait_until_sync(has_ended, look_s=0.02)
    (on, began_ms), (off, ended_ms) = board.changes("valve")[-2:]
    assert (on, off) == (1, 0)
    assert 350 <= ended_ms - began_ms <= 400
    with pytest.raises(
        Refused, match=r"valve must rest 0\.\d s more \(min_off_ms 300\)"
    ) as refused:
        wire.call(GPIO_WRITE, VALVE + ON)
    assert refused.value.code == codec.BUSY_CODE
    wire.rest(0.3)
    assert wire.call(GPIO_WRITE, VALVE + ON) == ON


def test_the_same_configuration_again_changes_nothing(garden: Any) -> None:
    board, wire = garden
    board.set(level_ok=1)
    wire.call(GPIO_WRITE, VALVE + ON)
    before = pin_events(board)
    wire.call(codec.METHOD_CONFIG_COMMIT, packed(GARDEN)[1])
    assert wire.call(GPIO_READ, VALVE) == ON
    assert pin_events(board) == before


def test_another_configuration_begins_with_every_output_safe(garden: Any) -> None:
    board, wire = garden
    board.set(level_ok=1)
    wire.call(GPIO_WRITE, VALVE + ON)
    configure(wire, [])
    assert ("valve", 0) in pin_events(board)
    assert board.value("pump") == 0
    assert wire.status()[2] == 0
    assert wire.call(GPIO_WRITE, PINS["pump"] + ON) == ON


def test_the_board_says_that_it_will_not_listen_before_it_writes(garden: Any) -> None:
    _board, wire = garden
    text, digest = packed([])
    upload(wire, text, digest)
    wire.send(codec.REQUEST, wire.request(codec.METHOD_CONFIG_COMMIT, digest), wire.sequence)
    kinds = [frame.kind for frame in wire.frames(0.2)]
    assert kinds[:2] == [codec.BUSY, codec.ANSWER]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"name": "laser", "kind": "laser", "pin": "PB0"}], "laser: no such kind"),
        ([*GARDEN, {"name": "again", "kind": "input", "pin": "PB5"}], "again: PB5 is used twice"),
        ([{**GARDEN[0], "needs": [["a0", 1]]}], "valve: it needs a pin that cannot be read"),
        ([{"name": "dimmer", "kind": "pwm", "pin": "PB6", "frequency": 0}], "dimmer: frequency"),
    ],
)
def test_what_is_refused_leaves_the_old_one_in_force(
    garden: Any, entries: list[Any], said: str
) -> None:
    _board, wire = garden
    with pytest.raises(Refused, match=said) as refused:
        configure(wire, entries)
    assert refused.value.code == codec.OUT_OF_RANGE
    assert announced(wire) == packed(GARDEN)[1]
    assert downloaded(wire) == packed(GARDEN)[0]
    assert wire.call(GPIO_READ, VALVE) == OFF


def test_what_did_not_arrive_whole_is_not_taken(wire: Wire) -> None:
    text, digest = packed([{"name": "lamp", "kind": "output", "pin": "PB7"}])
    before = announced(wire)
    for spoiled in (text[:-1], text.replace(b"PB7", b"PB8")):
        upload(wire, spoiled, digest)
        with pytest.raises(Refused, match="not what was announced"):
            wire.call(codec.METHOD_CONFIG_COMMIT, digest)
    with pytest.raises(Refused, match="nothing was begun"):
        wire.call(codec.METHOD_CONFIG_COMMIT, digest)
    assert announced(wire) == before


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        (codec.METHOD_CONFIG_BEGIN, struct.pack("<I8s", 0, NONE)),
        (codec.METHOD_CONFIG_BEGIN, struct.pack("<I8s", codec.CONFIG_LIMIT_BYTES + 1, NONE)),
        (codec.METHOD_CONFIG_READ, struct.pack("<I", 5000)),
    ],
)
def test_what_is_out_of_range_is_refused(wire: Wire, method: int, arguments: bytes) -> None:
    with pytest.raises(Refused) as refused:
        wire.call(method, arguments)
    assert refused.value.code == codec.OUT_OF_RANGE


def test_a_piece_beyond_the_announced_length_is_refused(wire: Wire) -> None:
    wire.call(codec.METHOD_CONFIG_BEGIN, struct.pack("<I8s", 10, NONE))
    with pytest.raises(Refused, match="beyond the length"):
        wire.call(codec.METHOD_CONFIG_WRITE, struct.pack("<I", 8) + b"abc")


def stored(folder: Path) -> Path:
    (path,) = folder.rglob("configuration_a.bin")
    return path


def test_a_restarted_board_knows_its_safe_values_before_anybody_speaks(tmp_path: Path) -> None:
    lamp = {"name": "lamp", "kind": "output", "pin": "PC13", "active_low": False, "safe": 1}
    with simulated(tmp_path, flash=tmp_path / FLASH) as board:
        with Wire(str(board.port)) as wire:
            wire.greet()
            digest = configure(wire, [lamp])
        board.kill()
        before = len(board.record())
        board.start()
        # The first level of the pin is its own safe one, not that of the board file
        levels = [one["level"] for one in board.record()[before:] if one.get("pin") == "PC13"]
        assert levels == [1]
        with Wire(str(board.port)) as wire:
            assert announced(wire) == digest


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:4], bytes.upper])
def test_a_damaged_configuration_counts_as_none(tmp_path: Path, damage: Any) -> None:
    with simulated(tmp_path, flash=tmp_path / FLASH) as board:
        with Wire(str(board.port)) as wire:
            wire.greet()
            configure(wire, GARDEN)
        board.kill()
        path = stored(tmp_path)
        path.write_bytes(damage(path.read_bytes()))
        board.start()
        with Wire(str(board.port)) as wire:
            assert announced(wire) == NONE
            assert wire.status()[0] == codec.STATE_IDLE
            assert wire.call(GPIO_WRITE, PINS["pump"] + ON) == ON
