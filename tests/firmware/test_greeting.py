import hashlib
import json
import struct
from types import ModuleType
from typing import Any

from agent.link import frame as codec
from agent.link.base import UNCOUNTED
from firmware.host.bundle import board_file, build_number, bundle
from firmware.host.describe import manifest
from firmware.host.version import firmware_version
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import GPIO_WRITE, ON, PINS, switch
from tests.firmware.node_on_cpython import node_module

LISTEN_S = 0.1


def test_boots_are_told_apart_where_a_register_counts_them_and_where_none_does() -> None:
    machine: Any = ModuleType("machine")
    machine.mem32 = {0x4000289C: 6}
    with node_module("identity", machine=machine) as identity:
        assert [identity.count_boot(0x4000289C // 4) for _ in range(2)] == [7, 8]
        # STM32G4, H5, WL and others have no register by MicroPython's name
        others = {identity.count_boot(0) for _ in range(20)}
    assert len(others) > 10
    assert all(UNCOUNTED <= count <= 0xFFFFFFFF for count in others)


def hello(wire: Wire, payload: bytes) -> list[int]:
    """The kinds of what comes back for this greeting."""
    wire.send(codec.HELLO, payload)
    return [frame.kind for frame in wire.frames(LISTEN_S)]


def test_the_greeting_says_who_the_board_is(wire: Wire) -> None:
    nonce, version, major, minor, patch, build, cause, boots, window, flash = wire.greeting[:10]
    assert (nonce, version) == (wire.nonce, 1)
    assert (major, minor, patch) == firmware_version()
    assert build == build_number(bundle("simulated")[:-1])
    assert (cause, flash) == (1, 3)
    assert boots > 0
    assert window == 1024
    assert wire.greeting[11:13] == (bytes(8), b"SIMULATED-01")
    assert wire.name == "simulated"


def test_the_greeting_carries_the_hash_of_the_manifest_that_is_served(wire: Wire) -> None:
    text = wire.manifest()
    assert hashlib.sha256(text).digest()[:8] == wire.greeting[10]
    assert json.loads(text) == manifest(board_file("simulated"))


def test_the_same_greeting_again_changes_nothing(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    again = struct.pack(codec.HELLO_FORMAT, 1, 1, wire.nonce)
    assert codec.HELLO_ACK in hello(wire, again)
    assert board.value("led") == 1
    assert wire.call(codec.METHOD_STATUS)[0] == 3


def test_a_new_greeting_makes_the_outputs_safe(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    switch(wire, "pump", ON)
    wire.greet()
    assert (board.value("led"), board.value("pump")) == (0, 0)
    assert wire.status()[2] == 0


def test_without_a_common_version_there_is_no_session(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    wire.send(codec.HELLO, struct.pack(codec.HELLO_FORMAT, 2, 9, 77))
    greeting = next(frame for frame in wire.frames(LISTEN_S) if frame.kind == codec.HELLO_ACK)
    assert struct.unpack_from("<IB", greeting.payload) == (77, 0)
    assert board.value("led") == 0
    wire.nonce = wire.decoder.nonce = 77
    wire.send(codec.REQUEST, wire.request(GPIO_WRITE, PINS["led"] + ON))
    assert list(wire.frames(LISTEN_S)) == []
    assert board.value("led") == 0


def test_a_greeting_of_a_newer_agent_is_understood(wire: Wire) -> None:
    newer = struct.pack(codec.HELLO_FORMAT, 1, 7, 1234) + b"what a later version adds"
    assert hello(wire, newer) == [codec.HELLO_ACK]


def test_a_greeting_without_a_nonce_is_not_answered(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    assert hello(wire, struct.pack(codec.HELLO_FORMAT, 1, 1, 0)) == []
    assert hello(wire, b"\x01\x01\x05") == []
    assert board.value("led") == 1


def test_a_request_of_an_earlier_session_is_not_heard(wire: Wire, board: BoardSim) -> None:
    earlier = wire.nonce
    wire.greet()
    wire.nonce = earlier
    wire.send(codec.REQUEST, wire.request(GPIO_WRITE, PINS["led"] + ON))
    list(wire.frames(LISTEN_S))
    assert board.value("led") == 0


def test_ping_is_answered_with_both_clocks(wire: Wire) -> None:
    wire.send(codec.PING, struct.pack(codec.PING_FORMAT, 123456))
    (pong,) = list(wire.frames(LISTEN_S))
    assert pong.kind == codec.PONG
    assert struct.unpack(codec.PONG_FORMAT, pong.payload)[0] == 123456


def test_a_ping_without_a_time_is_ignored(wire: Wire) -> None:
    wire.send(codec.PING, b"\x01")
    assert list(wire.frames(LISTEN_S)) == []
