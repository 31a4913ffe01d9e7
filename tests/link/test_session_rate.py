import struct

import pytest

from agent.link import frame as wire
from agent.link.frame import Frame
from agent.link.rate import RATE_ANSWER_S, RATE_SILENCE_S, SETTLE_S, Rates
from agent.link.session import (
    ESTOP_REPEATS,
    MAX_UNANSWERED_PINGS,
    PING_INTERVAL_S,
    Session,
    SessionState,
)
from tests.fakes.told_session import answer, ask, kinds, opened, said, tell

START, TOP = 115_200, 921_600
RATES = Rates(START, TOP)


def agree(session: Session, baud: int, now_s: float) -> None:
    tell(session, Frame(wire.BAUD_ACK, payload=struct.pack(wire.BAUD_FORMAT, baud)), now_s)


def offering() -> Session:
    session = opened(rates=RATES)
    session.tick(0.0)
    return session


def raised() -> Session:
    session = offering()
    agree(session, TOP, 0.0)
    tell(session, Frame(wire.PONG, payload=bytes(8)), 0.02)
    session.take_output()
    assert (session.rate.baud, session.rate.is_pending) == (TOP, False)
    return session


def run(session: Session, until_s: float) -> float:
    """Only time passes."""
    now_s = 0.0
    while (due_at_s := session.due_at_s) is not None and due_at_s <= until_s:
        now_s = max(now_s, due_at_s)
        session.tick(now_s)
    return now_s


def test_the_offer_is_the_first_thing_after_the_greeting() -> None:
    session = offering()
    (offer,) = said(session)
    assert offer.kind == wire.BAUD
    assert struct.unpack(wire.BAUD_FORMAT, offer.payload) == (TOP,)


def test_requests_wait_until_both_ends_agree() -> None:
    session = offering()
    session.take_output()
    ask(session, now_s=0.01)
    assert kinds(session) == []
    agree(session, TOP, 0.02)
    session.tick(0.02)
    assert kinds(session) == []
    session.tick(0.02 + SETTLE_S)
    assert kinds(session) == [wire.PING]
    tell(session, Frame(wire.PONG, payload=bytes(8)), 0.04)
    session.tick(0.04)
    assert kinds(session) == [wire.REQUEST]


def test_a_refusal_costs_one_round_trip() -> None:
    session = offering()
    session.take_output()
    ask(session, now_s=0.01)
    agree(session, 0, 0.02)
    session.tick(0.02)
    assert kinds(session) == [wire.REQUEST]
    assert session.rate.baud == START


def test_a_firmware_that_does_not_know_the_offer_is_asked_on_after_a_moment() -> None:
    session = offering()
    session.take_output()
    ask(session, now_s=0.01)
    assert session.due_at_s == RATE_ANSWER_S
    session.tick(RATE_ANSWER_S)
    assert kinds(session) == [wire.REQUEST]


def test_an_answer_that_is_cut_short_is_none() -> None:
    session = offering()
    tell(session, Frame(wire.BAUD_ACK, payload=b"\x00\x10\x0e"), 0.01)
    assert session.rate.is_pending


def test_silence_at_the_raised_rate_ends_the_rate_before_the_session() -> None:
    session = raised()
    run(session, 0.02 + RATE_SILENCE_S)
    assert session.state is SessionState.OPEN
    assert session.rate.baud == START
    assert kinds(session) == [wire.PING] * MAX_UNANSWERED_PINGS
    ended_s = run(session, 60.0)
    assert session.reason == "the board no longer answers"
    # No later than with any other silence
    assert ended_s == pytest.approx(0.02 + (MAX_UNANSWERED_PINGS + 1) * PING_INTERVAL_S)


def test_a_rate_that_only_the_board_can_hear_does_not_end_the_session() -> None:
    session = offering()
    agree(session, TOP, 0.0)
    run(session, RATE_SILENCE_S)
    assert session.rate.baud == START
    session.take_output()
    # It may have heard each ping of the trial, and needs its second after the last of them
    run(session, 2 * RATE_SILENCE_S)
    assert session.state is SessionState.OPEN
    assert wire.PING in kinds(session)


def test_a_board_that_is_busy_may_be_silent_at_the_raised_rate() -> None:
    session = raised()
    tell(session, Frame(wire.BUSY, payload=struct.pack(wire.BUSY_FORMAT, 3_000)), 0.1)
    run(session, 3.5)
    assert session.rate.baud == TOP
    tell(session, answer(1, 0), 3.6)
    run(session, 4.0)
    assert session.rate.baud == TOP


def test_a_stop_during_the_change_is_said_again_once_the_board_is_heard() -> None:
    session = offering()
    session.take_output()
    session.stop()
    assert kinds(session) == [wire.ESTOP] * ESTOP_REPEATS
    agree(session, TOP, 0.01)
    tell(session, Frame(wire.PONG, payload=bytes(8)), 0.03)
    assert kinds(session) == [wire.ESTOP] * ESTOP_REPEATS
    tell(session, Frame(wire.PONG, payload=bytes(8)), 0.04)
    assert kinds(session) == []


def test_a_stop_into_the_silence_is_said_again_at_the_rate_that_works() -> None:
    session = raised()
    session.stop()
    run(session, 0.02 + RATE_SILENCE_S)
    session.take_output()
    tell(session, Frame(wire.PONG, payload=bytes(8)), 1.5)
    assert kinds(session) == [wire.ESTOP] * ESTOP_REPEATS
