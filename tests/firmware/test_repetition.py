import struct
import time

from agent.link import frame as codec
from agent.link.frame import Frame
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import GPIO_READ, GPIO_WRITE, OFF, ON, PINS, switch

LISTEN_S = 0.15
# Six repetitions from 30 ms on, doubled up to a second, after a quick round trip
DEAD_AFTER_S = 3.2


def unheard(wire: Wire, limit_s: float) -> list[Frame]:
    """What the board sends while nothing is acknowledged."""
    got = []
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        got += wire.decoder.feed(wire.port.read(wire.port.in_waiting or 1))
    return got


def test_a_doubled_request_is_run_once(wire: Wire, board: BoardSim) -> None:
    pulses = len(board.changes("pump"))
    on = wire.request(GPIO_WRITE, PINS["pump"] + ON)
    off = wire.request(GPIO_WRITE, PINS["pump"] + OFF)
    for _ in range(3):
        wire.send(codec.REQUEST, on, 0)
        wire.send(codec.REQUEST, on, 0)
        wire.send(codec.REQUEST, off, 1)
        wire.send(codec.REQUEST, off, 1)
    answers = [frame for frame in wire.frames(LISTEN_S) if frame.kind == codec.ANSWER]
    assert [answer.payload[:2] for answer in answers] == [on[1:3], off[1:3]]
    assert len(board.changes("pump")) == pulses + 2


def test_a_repeated_request_id_is_answered_from_the_cache(wire: Wire, board: BoardSim) -> None:
    assert wire.call(GPIO_WRITE, PINS["pump"] + ON, request_id=100) == ON
    assert wire.call(GPIO_WRITE, PINS["pump"] + OFF, request_id=101) == OFF
    pulses = len(board.changes("pump"))
    for request_id in range(102, 116):
        wire.call(GPIO_READ, PINS["led"], request_id=request_id)
    assert wire.call(GPIO_WRITE, PINS["pump"] + ON, request_id=100) == ON
    assert len(board.changes("pump")) == pulses
    assert board.value("pump") == 0


def test_the_cache_ends_with_its_session(wire: Wire, board: BoardSim) -> None:
    wire.call(GPIO_WRITE, PINS["pump"] + ON, request_id=100)
    wire.greet()
    assert board.value("pump") == 0
    assert wire.call(GPIO_WRITE, PINS["pump"] + ON, request_id=100) == ON
    assert board.value("pump") == 1


def test_every_arrival_is_acknowledged(wire: Wire) -> None:
    request = wire.request(GPIO_READ, PINS["led"])
    wire.send(codec.REQUEST, request, 0)
    assert [frame.ack for frame in wire.frames(LISTEN_S)] == [1]
    wire.send(codec.REQUEST, request, 0)
    assert [(frame.kind, frame.ack) for frame in wire.frames(LISTEN_S)] == [(codec.ACK, 1)]


def rest_from_naks() -> None:
    """Let the board send one again: one in 20 ms, counted from the greeting too."""
    time.sleep(0.03)


def test_a_gap_is_answered_with_what_is_missing(wire: Wire, board: BoardSim) -> None:
    pulses = len(board.changes("pump"))
    rest_from_naks()
    wire.send(codec.REQUEST, wire.request(GPIO_WRITE, PINS["pump"] + ON), 3)
    assert [(frame.kind, frame.ack) for frame in wire.frames(LISTEN_S)] == [(codec.NAK, 0)]
    assert len(board.changes("pump")) == pulses


def test_damage_is_answered_with_one_nak_for_a_burst(wire: Wire) -> None:
    rest_from_naks()
    wire.write(b"\x00damage\x00" * 10)
    assert [frame.kind for frame in wire.frames(LISTEN_S)] == [codec.NAK]


def test_an_answer_is_sent_again_until_it_is_acknowledged(wire: Wire) -> None:
    wire.send(codec.REQUEST, wire.request(GPIO_READ, PINS["led"]), 0)
    got = unheard(wire, 1.0)
    assert len(got) > 1
    assert {(frame.kind, frame.sequence) for frame in got} == {(codec.ANSWER, 0)}
    wire.expected = 1
    wire.send(codec.ACK)
    unheard(wire, 0.05)
    assert unheard(wire, 1.2) == []


def test_a_nak_is_answered_at_once(wire: Wire) -> None:
    wire.send(codec.REQUEST, wire.request(GPIO_READ, PINS["led"]), 0)
    first = unheard(wire, 0.05)
    wire.send(codec.NAK)
    again = unheard(wire, 0.05)
    assert [frame.payload for frame in again] == [frame.payload for frame in first]


def test_a_session_dies_when_nobody_acknowledges_and_only_estop_and_a_greeting_are_heard(
    wire: Wire, board: BoardSim
) -> None:
    switch(wire, "pump", ON)
    wire.send(codec.REQUEST, wire.request(GPIO_READ, PINS["led"]), 1)
    got = []
    for sequence in range(2, 9):
        got += unheard(wire, DEAD_AFTER_S / 7)
        everything = struct.pack("<I", 0xFFFFFFFF)
        wire.send(codec.REQUEST, wire.request(codec.METHOD_LEASE_RENEW, everything), sequence)
    assert len([frame for frame in got if frame.sequence == 1]) == 7
    wire.send(codec.REQUEST, wire.request(GPIO_READ, PINS["led"]), 9)
    wire.send(codec.PING, bytes(4))
    assert unheard(wire, 0.2) == []
    wire.send(codec.ESTOP)
    assert [frame.kind for frame in unheard(wire, 0.1)] == [codec.ACK]
    assert board.value("pump") == 0
    wire.greet()
    assert wire.call(GPIO_READ, PINS["led"]) == OFF


def test_eight_requests_may_be_under_way(wire: Wire) -> None:
    requests = [wire.request(GPIO_READ, PINS["led"]) for _ in range(8)]
    for sequence, request in enumerate(requests):
        wire.send(codec.REQUEST, request, sequence)
    answers = [frame for frame in wire.frames(LISTEN_S) if frame.kind == codec.ANSWER]
    assert [answer.payload[:2] for answer in answers] == [request[1:3] for request in requests]


def test_no_answer_is_lost_when_more_is_asked_than_is_acknowledged(
    wire: Wire, board: BoardSim
) -> None:
    pulses = len(board.changes("pump"))
    requests = [
        wire.request(GPIO_WRITE, PINS["pump"] + (OFF if number % 2 else ON)) for number in range(12)
    ]
    for sequence, request in enumerate(requests):
        wire.send(codec.REQUEST, request, sequence)
    # The ninth and later find no room: they were not taken and not run
    assert len({frame.sequence for frame in unheard(wire, LISTEN_S)}) == 8
    assert len(board.changes("pump")) == pulses + 8
    wire.expected = 8
    for sequence, request in enumerate(requests):
        wire.send(codec.REQUEST, request, sequence)
    answers = [frame for frame in wire.frames(LISTEN_S) if frame.kind == codec.ANSWER]
    assert [answer.payload[:2] for answer in answers] == [request[1:3] for request in requests[8:]]
    assert len(board.changes("pump")) == pulses + 12


def test_no_more_is_in_flight_than_the_credit_allows(wire: Wire) -> None:
    room = 2 * codec.CREDIT_UNIT_BYTES  # for one small answer and a half
    for sequence in range(4):
        payload = wire.request(GPIO_READ, PINS["led"])
        frame = Frame(codec.REQUEST, sequence, 0, room // codec.CREDIT_UNIT_BYTES, payload)
        wire.write(codec.encode(frame, wire.nonce))
    assert {frame.sequence for frame in unheard(wire, 0.1)} == {0, 1}


def test_sequences_go_around(wire: Wire) -> None:
    for _ in range(600):
        assert wire.call(GPIO_READ, PINS["led"]) == OFF
    assert struct.unpack("<B", switch(wire, "led", ON)) == (1,)
