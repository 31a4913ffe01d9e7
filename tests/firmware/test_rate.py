import struct
from types import ModuleType
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.node_on_cpython import node_module
from tests.waits import stays_sync, wait_until_sync

START, TOP = 115_200, 921_600
SILENCE_S = 1.0
# Passes of the loop, and a machine with better things to do
GRACE_S = 0.5


def offer(wire: Wire, payload: bytes) -> list[int]:
    """What the board answers to BAUD, and that it is still there."""
    wire.send(codec.BAUD, payload)
    answers = [frame for frame in wire.frames(0.1) if frame.kind == codec.BAUD_ACK]
    return [struct.unpack(codec.BAUD_FORMAT, one.payload)[0] for one in answers]


def rates(board: BoardSim) -> list[int]:
    return [event["baud"] for event in board.record() if event["event"] == "rate"]


def stay(wire: Wire, for_s: float) -> None:
    stays_sync(wire.status, for_s, look_s=0.1)


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(TOP, TOP), (460_800, 460_800), (3_000_000, TOP), (2**32 - 1, TOP)],
)
def test_a_higher_rate_is_agreed_to_as_far_as_a_uart_goes(
    own_board: BoardSim, asked: int, agreed: int
) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert offer(wire, struct.pack(codec.BAUD_FORMAT, asked)) == [agreed]
        wire.status()
    assert rates(own_board) == [agreed]


@pytest.mark.parametrize("asked", [0, 1, 9_600, START])
def test_no_rate_but_a_higher_one_is_agreed_to(own_board: BoardSim, asked: int) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert offer(wire, struct.pack(codec.BAUD_FORMAT, asked)) == [0]
        wire.status()
    assert rates(own_board) == []


def test_an_offer_that_is_cut_short_is_ignored(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert offer(wire, b"\0\x10\x0e") == []
    assert rates(own_board) == []


def test_it_stays_up_while_it_is_spoken_to_and_goes_back_after_a_second_of_silence(
    own_board: BoardSim,
) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        offer(wire, struct.pack(codec.BAUD_FORMAT, TOP))
        stay(wire, 1.5 * SILENCE_S)
        assert rates(own_board) == [TOP]

        # Rubbish is silence
        def has_gone_back() -> bool:
            wire.write(b"\0\x55\xaa\x55\xaa\0")
            return rates(own_board) == [TOP, START]

        wait_until_sync(has_gone_back, SILENCE_S + GRACE_S, look_s=0.1)
        wire.status()
        assert offer(wire, struct.pack(codec.BAUD_FORMAT, TOP)) == [TOP]


def test_an_offer_before_any_greeting_is_not_heard(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        assert offer(wire, struct.pack(codec.BAUD_FORMAT, TOP)) == []
    assert rates(own_board) == []


class StillPort:
    """Its rate can be changed and nothing comes of it."""

    baudrate = START

    def __init__(self) -> None:
        self.set: list[int] = []

    def set_baudrate(self, baudrate: int) -> None:
        self.set.append(baudrate)


def test_a_second_counts_from_the_last_valid_frame_or_the_end_of_a_busy_time() -> None:
    with node_module("rate") as module:
        port = StillPort()
        rate: Any = module.Rate(port)
        rate.tick(5_000, 0)
        assert port.set == []
        rate.answer(struct.pack("<I", TOP))
        rate.begin()
        rate.tick(5_000, 4_001)
        # What will be heard only in a while has not been silent
        rate.tick(5_000, 7_000)
        assert port.set == [TOP]
        rate.tick(5_001, 4_001)
        rate.tick(9_000, 4_001)
        assert port.set == [TOP, START]


def test_a_port_without_a_rate_refuses_and_loads_nothing() -> None:
    # Its loops are machine code, of which this Python knows nothing
    with node_module("session", **{"node.codec": ModuleType("codec")}) as module:
        session: Any = object.__new__(module.Session)
        session._port = type("UsbPort", (), {"baudrate": 0})()
        session._rate = None
        said: list[tuple[int, bytes]] = []
        session._send = lambda kind, _sequence, payload: said.append((kind, payload))
        session._change_rate(struct.pack("<I", TOP))
        assert said == [(codec.BAUD_ACK, bytes(4))]
        assert session._rate is None
