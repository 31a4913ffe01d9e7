import os
import random
import struct
from typing import Any

from agent.link import frame as codec
from agent.link.frame import Frame, encode
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import GPIO_READ, GPIO_WRITE, OFF, ON, PINS, switch
from tests.waits import stays_sync

RANDOM_FRAMES = 20_000
FRAMES_OF_A_SESSION = 100
REQUESTS = 3_000
# What a collection may find differently placed; one leaked byte per request would be 3,000
HEAP_SLACK_BYTES = 1_024
CHUNK_BYTES = 512


def shout(wire: Wire, data: bytes) -> None:
    """Write without ever waiting for the board, and throw away what it says."""
    for start in range(0, len(data), CHUNK_BYTES):
        wire.write(data[start : start + CHUNK_BYTES])
        wire.port.read(wire.port.in_waiting)


def test_a_frame_cut_after_any_byte_does_not_harm_the_next_call(
    wire: Wire, board: BoardSim
) -> None:
    pulses = len(board.changes("pump"))
    payload = wire.request(GPIO_WRITE, PINS["pump"] + ON)
    whole = encode(Frame(codec.REQUEST, 0, 0, 64, payload), wire.nonce)
    for kept in range(len(whole) - 1):
        wire.greet()
        wire.write(encode(Frame(codec.REQUEST, 0, 0, 64, payload), wire.nonce)[:kept])
        assert wire.call(GPIO_READ, PINS["led"]) == OFF
    assert len(board.changes("pump")) == pulses


def but_for_rates(board: BoardSim) -> list[dict[str, Any]]:
    """What the world saw, without the line becoming faster, which a frame may well ask for.

    And without a pass that took long, which is the machine's.
    """
    return [event for event in board.record() if event["event"] not in {"rate", "stall"}]


def test_random_frames_change_no_pin(wire: Wire, board: BoardSim) -> None:
    chance = random.Random(20_000)
    switch(wire, "led", OFF)
    before = but_for_rates(board)
    heard = wire.status()[3:]
    for _ in range(RANDOM_FRAMES // FRAMES_OF_A_SESSION):
        # A fresh session, so that the window is open and nothing is refused for want of room
        wire.greet()
        request = wire.request(GPIO_WRITE, PINS["led"] + ON)
        good = encode(Frame(codec.REQUEST, 0, 0, 64, request), wire.nonce)
        makers = [chance.choice((noise, damaged, wellformed)) for _ in range(FRAMES_OF_A_SESSION)]
        shout(wire, b"".join(make(chance, good, wire.nonce) for make in makers))
    wire.greet()
    assert but_for_rates(board) == before
    told = wire.status()[3:]
    assert told[0] - heard[0] > RANDOM_FRAMES / 4
    assert told[1] - heard[1] > RANDOM_FRAMES / 2
    assert wire.call(GPIO_WRITE, PINS["led"] + ON) == ON


def test_random_frames_cause_no_fault_in_the_firmware(wire: Wire, board: BoardSim) -> None:
    # After a fault of its own the firmware makes every output safe: the led would tell
    chance = random.Random(1)
    for _ in range(50):
        wire.greet()
        switch(wire, "led", ON)
        shouted = [wellformed(chance, b"", wire.nonce) for _ in range(FRAMES_OF_A_SESSION)]
        shout(wire, b"".join(shouted))
        stays_sync(lambda: board.order({"get": True})["outputs"]["led"] == 1, 0.01)


def noise(chance: random.Random, _good: bytes, _nonce: int) -> bytes:
    return chance.randbytes(chance.randrange(1, 40)) + b"\0"


def damaged(chance: random.Random, good: bytes, _nonce: int) -> bytes:
    frame = bytearray(good)
    for _ in range(chance.randrange(1, 4)):
        frame[chance.randrange(1, len(frame) - 1)] ^= 1 << chance.randrange(8)
    return b"" if bytes(frame) == good else bytes(frame)


def wellformed(chance: random.Random, _good: bytes, nonce: int) -> bytes:
    """A good CRC around anything but what ends a session and a request that switches a pin."""
    kind = chance.choice([kind for kind in range(32) if kind not in (codec.HELLO, codec.ESTOP)])
    payload = bytearray(chance.randbytes(chance.randrange(0, 24)))
    if kind == codec.REQUEST and payload[:1] in (bytes([GPIO_WRITE]), bytes([codec.METHOD_SAFE])):
        payload[0] = GPIO_READ
    header = (chance.randrange(256), chance.randrange(256), chance.randrange(256))
    return encode(Frame(kind, *header, bytes(payload)), nonce)


def test_a_long_flood_without_a_delimiter_ends_with_the_next_one(wire: Wire) -> None:
    dropped = wire.status()[4]
    shout(wire, b"\xff" * 100_000 + b"\0")
    assert wire.call(GPIO_READ, PINS["led"]) == OFF
    assert wire.status()[4] == dropped + 1


def test_what_a_person_types_is_not_answered(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        for line in (b"help\r\n", b"\x03\x03\x04", b"import machine\r", b">>> \xff\0\0\x01", b"\t"):
            wire.write(line)
        stays_sync(lambda: not wire.port.in_waiting, 0.1)
        assert wire.port.read(wire.port.in_waiting) == b""
        wire.greet()
        assert wire.call(GPIO_READ, PINS["led"]) == OFF
    assert [event["event"] for event in but_for_rates(own_board)] == ["boot", "pin", "pin", "pin"]


def test_the_heap_does_not_grow_with_requests(wire: Wire, board: BoardSim) -> None:
    def ask(count: int) -> int:
        for number in range(count):
            switch(wire, "pump", ON if number % 2 else OFF)
        answer: int = board.order({"get": True})["heap_free"]
        return answer

    ask(100)
    before = ask(100)
    assert before - ask(REQUESTS) <= HEAP_SLACK_BYTES


def test_the_heap_does_not_grow_with_damage_and_greetings(wire: Wire, board: BoardSim) -> None:
    def worry(count: int) -> int:
        for _ in range(count):
            shout(wire, os.urandom(200))
            wire.greet()
            wire.send(codec.PING, struct.pack("<I", 1))
        answer: int = board.order({"get": True})["heap_free"]
        return answer

    worry(20)
    before = worry(20)
    assert before - worry(300) <= HEAP_SLACK_BYTES
