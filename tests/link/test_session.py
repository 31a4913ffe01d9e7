import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link import frame as wire
from agent.link.arq import NAK_HOLD_OFF_S, WINDOW_FRAMES
from agent.link.frame import Frame, encode
from agent.link.session import (
    ACK_DELAY_S,
    HELLO_INTERVAL_S,
    HELLO_TRIES,
    MAX_BUSY_S,
    MAX_UNANSWERED_PINGS,
    NAK_INTERVAL_S,
    PING_INTERVAL_S,
    BoardAnswer,
    Request,
    Session,
    SessionState,
)
from tests.fakes.peer import hello_ack
from tests.fakes.told_session import NONCE, answer, ask, fresh, kinds, opened, said, tell


def run_until(session: Session, is_done: Callable[[], bool], limit_s: float = 60.0) -> float:
    """Let only time pass, as a port would where nothing ever arrives."""
    now_s = 0.0
    while not is_done() and now_s < limit_s:
        due_at_s = session.due_at_s
        assert due_at_s is not None, "nothing more would ever happen"
        now_s = max(now_s, due_at_s)
        session.tick(now_s)
    return now_s


def test_hello_comes_first_and_again_until_given_up() -> None:
    session = fresh()
    ended_s = run_until(session, lambda: session.is_over)
    assert kinds(session) == [wire.HELLO] * HELLO_TRIES
    assert ended_s == pytest.approx(HELLO_TRIES * HELLO_INTERVAL_S)
    assert session.state is SessionState.DEAD
    assert "nothing answers at /dev/x" in session.reason
    assert session.due_at_s is None


def test_hello_is_not_repeated_early() -> None:
    session = fresh()
    session.tick(0.0)
    session.tick(HELLO_INTERVAL_S / 2)
    assert kinds(session) == [wire.HELLO]


def test_the_echoed_nonce_opens_the_session() -> None:
    session = opened()
    assert session.greeting is not None
    assert session.greeting.identity.board == "scripted"


@pytest.mark.parametrize(
    "payload", [hello_ack(NONCE + 1), hello_ack(NONCE)[:20], hello_ack(NONCE + 1, version=0)]
)
def test_a_greeting_for_somebody_else_is_ignored(payload: bytes) -> None:
    session = fresh()
    session.receive(encode(Frame(wire.HELLO_ACK, payload=payload)), 0.0)
    assert session.state is SessionState.GREETING


def test_no_common_version_refuses_for_good() -> None:
    session = fresh()
    greeting = encode(Frame(wire.HELLO_ACK, payload=hello_ack(NONCE, version=0)))
    session.receive(greeting + greeting, 0.0)
    assert session.state is SessionState.REFUSED
    assert "firmware 0.1.0" in session.reason
    session.end("too late to be a reason")
    session.tick(9.0)
    assert session.state is SessionState.REFUSED
    assert "firmware" in session.reason
    assert session.take_output() == b""


def test_a_second_greeting_changes_nothing() -> None:
    session = opened()
    ask(session)
    tell(session, Frame(wire.HELLO_ACK, payload=hello_ack(NONCE, version=0)))
    assert session.state is SessionState.OPEN


def test_our_own_hello_coming_back_is_an_echo() -> None:
    session = fresh()
    session.tick(0.0)
    session.receive(session.take_output(), 0.0)
    run_until(session, lambda: session.is_over)
    assert "echoes" in session.reason


def test_frames_before_the_greeting_count_for_nothing() -> None:
    session = fresh()
    tell(session, answer(1, 0))
    assert session.take_answers() == []
    assert session.counters.frames_received == 0


def test_a_request_goes_out_at_once_with_its_deadline() -> None:
    session = opened()
    ask(session, request_id=0x1234)
    (frame,) = said(session)
    assert (frame.kind, frame.sequence) == (wire.REQUEST, 0)
    assert frame.payload == struct.pack("<BHH", 16, 0x1234, 500) + b"\x07"


def test_an_answer_is_handed_over_once_and_acknowledged_a_little_later() -> None:
    session = opened()
    ask(session)
    said(session)
    tell(session, answer(1, 0, ack=1))
    assert session.take_answers() == [BoardAnswer(1, 0, b"result")]
    assert session.take_answers() == []
    session.tick(0.0)
    assert said(session) == []
    assert session.due_at_s == pytest.approx(ACK_DELAY_S)
    session.tick(ACK_DELAY_S)
    (ack,) = said(session)
    assert (ack.kind, ack.ack) == (wire.ACK, 1)


def test_the_next_request_carries_the_acknowledgement() -> None:
    session = opened()
    ask(session)
    said(session)
    tell(session, answer(1, 0, ack=1))
    ask(session, 2)
    session.tick(2 * ACK_DELAY_S)
    (frame,) = said(session)
    assert (frame.kind, frame.ack) == (wire.REQUEST, 1)


def test_a_repeated_answer_is_acknowledged_and_dropped() -> None:
    session = opened()
    tell(session, answer(1, 0))
    tell(session, answer(1, 0))
    assert len(session.take_answers()) == 1
    assert session.counters.frames_repeated == 1
    session.tick(0.1)
    assert wire.ACK in kinds(session)


def test_a_gap_is_answered_with_one_nak_at_a_time() -> None:
    session = opened()
    tell(session, answer(2, 1), now_s=0.0)
    tell(session, answer(3, 2), now_s=NAK_INTERVAL_S / 2)
    (nak,) = said(session)
    assert (nak.kind, nak.ack) == (wire.NAK, 0)
    tell(session, answer(3, 2), now_s=NAK_INTERVAL_S)
    assert kinds(session) == [wire.NAK]
    assert session.take_answers() == []
    assert session.counters.frames_missed == 3


def test_a_nak_brings_the_missing_request_again() -> None:
    session = opened()
    ask(session, 1)
    ask(session, 2)
    said(session)
    tell(session, Frame(wire.NAK, ack=1), now_s=NAK_HOLD_OFF_S)
    (frame,) = said(session)
    assert (frame.kind, frame.sequence) == (wire.REQUEST, 1)
    assert session.counters.frames_resent == 1


def test_an_unacknowledged_request_is_repeated_then_the_session_is_dead() -> None:
    session = opened()
    ask(session)
    now_s = 0.0
    while not session.is_over:
        assert session.due_at_s is not None
        now_s = max(now_s, session.due_at_s)
        session.tick(now_s)
        # It lives and says so, and yet takes nothing
        tell(session, Frame(wire.PONG, payload=bytes(8)), now_s)
    assert kinds(session).count(wire.REQUEST) == 7
    assert "does not acknowledge" in session.reason


def test_a_request_waits_while_the_board_has_no_room() -> None:
    session = opened(window_bytes=0)
    ask(session, 1)
    ask(session, 2)
    assert len(said(session)) == 1
    tell(session, Frame(wire.ACK, ack=1, credit=255))
    assert session.due_at_s == 0.0
    session.tick(0.0)
    assert kinds(session) == [wire.REQUEST]


def test_a_full_window_is_not_exceeded() -> None:
    session = opened()
    for request_id in range(WINDOW_FRAMES + 2):
        ask(session, request_id)
    assert len(said(session)) == WINDOW_FRAMES


def test_a_request_that_was_not_sent_can_be_taken_back() -> None:
    session = opened(window_bytes=0)
    ask(session, 1)
    waiting = session.request(Request(17, b"", 500), 2)
    session.withdraw(waiting)
    said(session)
    tell(session, Frame(wire.ACK, ack=1, credit=255))
    session.tick(0.0)
    assert said(session) == []


def test_silence_is_noticed_in_about_a_second_and_a_half() -> None:
    session = opened()
    ended_s = run_until(session, lambda: session.is_over)
    assert ended_s == pytest.approx(1.5)
    assert kinds(session) == [wire.PING] * MAX_UNANSWERED_PINGS
    assert session.reason == "the board no longer answers"


def test_anything_heard_starts_the_silence_anew() -> None:
    session = opened()
    for step in range(1, 40):
        session.tick(step * PING_INTERVAL_S)
        tell(session, Frame(wire.PONG, payload=bytes(8)), step * PING_INTERVAL_S)
    assert session.state is SessionState.OPEN


def test_a_loop_that_was_blocked_asks_before_it_gives_up() -> None:
    session = opened()
    session.tick(60.0)
    assert session.state is SessionState.OPEN
    assert kinds(session) == [wire.PING]


def test_a_ping_is_echoed_with_our_clock() -> None:
    session = opened()
    tell(session, Frame(wire.PING, payload=struct.pack("<I", 99)), now_s=1.5)
    (pong,) = said(session)
    assert (pong.kind, pong.payload) == (wire.PONG, struct.pack("<II", 99, 1500))


def test_while_the_board_is_busy_nothing_is_sent_and_nothing_is_given_up() -> None:
    session = opened()
    ask(session, 1)
    said(session)
    tell(session, Frame(wire.BUSY, 0, 0, 200, struct.pack("<H", 4000)), now_s=0.1)
    ask(session, 2, now_s=0.2)
    session.tick(4.0)
    assert said(session) == []
    assert session.due_at_s == pytest.approx(4.1)
    session.tick(4.1)
    assert kinds(session) == [wire.REQUEST, wire.REQUEST]
    assert session.state is SessionState.OPEN


def test_a_board_that_speaks_is_busy_no_more() -> None:
    session = opened()
    tell(session, Frame(wire.BUSY, payload=struct.pack("<H", 4000)), now_s=0.1)
    ask(session, 1, now_s=0.2)
    assert said(session) == []
    tell(session, Frame(wire.ACK), now_s=0.3)
    session.tick(0.3)
    assert kinds(session) == [wire.REQUEST]


def test_a_board_that_is_busy_for_ever_is_not_believed() -> None:
    session = opened()
    tell(session, Frame(wire.BUSY, payload=struct.pack("<H", 65_535)))
    ended_s = run_until(session, lambda: session.is_over)
    assert ended_s == pytest.approx(MAX_BUSY_S + 1.5)


@pytest.mark.parametrize("kind", [wire.PING, wire.BUSY])
def test_a_payload_that_is_too_short_is_ignored(kind: int) -> None:
    session = opened()
    tell(session, Frame(kind, payload=b"\x01"))
    assert said(session) == []
    assert session.state is SessionState.OPEN


def test_an_answer_that_is_too_short_is_ignored() -> None:
    session = opened()
    tell(session, Frame(wire.ANSWER, 0, payload=b"\x01"))
    assert session.take_answers() == []


def test_kinds_of_a_newer_board_are_counted_and_ignored() -> None:
    session = opened()
    tell(session, Frame(9))
    tell(session, Frame(wire.ACK))
    tell(session, Frame(wire.EVENT, 0, payload=b"news"))
    assert session.counters.frames_ignored == 1
    session.tick(0.1)
    assert wire.ACK in kinds(session)


def test_frames_of_another_session_are_dropped_and_counted() -> None:
    session = opened()
    session.receive(encode(answer(1, 0), NONCE + 1), 0.0)
    assert session.take_answers() == []
    assert session.counters.frames_dropped == 1


def test_the_first_reason_stays() -> None:
    session = opened()
    session.end("/dev/x was unplugged")
    session.end("something else")
    tell(session, answer(1, 0))
    assert (session.state, session.reason) == (SessionState.DEAD, "/dev/x was unplugged")
    assert session.take_answers() == []


@given(st.lists(st.binary(max_size=60), max_size=10))
def test_noise_neither_answers_nor_breaks_anything(noise: list[bytes]) -> None:
    session = opened()
    ask(session)
    said(session)
    for piece in noise:
        session.receive(piece, 0.01)
        session.tick(0.01)
    session.receive(b"\0", 0.01)
    assert session.take_answers() == []
    tell(session, answer(1, 0, ack=1), 0.02)
    assert session.take_answers() == [BoardAnswer(1, 0, b"result")]


@given(
    st.lists(
        st.builds(
            Frame,
            st.sampled_from([3, 4, 5, 6, 7, 9, 16, 17, 18]),
            st.integers(0, 255),
            st.integers(0, 255),
            st.integers(0, 255),
            st.binary(max_size=20),
        ),
        max_size=30,
    )
)
def test_no_sequence_of_valid_frames_breaks_anything(frames: list[Frame]) -> None:
    session = opened()
    for number, frame in enumerate(frames):
        if number % 3 == 0 and not session.is_over:
            ask(session, number, number * 0.1)
        tell(session, frame, number * 0.1)
        session.tick(number * 0.1)
        assert session.due_at_s is not None or session.is_over
        assert len(session.take_output()) < 20_000
