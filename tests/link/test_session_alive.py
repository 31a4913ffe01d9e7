import pytest

from agent.link import frame as wire
from agent.link.frame import Frame
from agent.link.session import ACK_DELAY_S, KEEP_ALIVE_S
from tests.fakes.told_session import answer, ask, kinds, opened, said, tell


def test_a_board_whose_outputs_are_held_hears_something_all_the_time() -> None:
    session = opened()
    session.is_holding = True
    now_s = sent_at_s = 0.0
    while now_s < 3:
        assert session.due_at_s is not None
        now_s = max(now_s, session.due_at_s)
        session.tick(now_s)
        for ping in said(session):
            assert now_s - sent_at_s <= KEEP_ALIVE_S + 1e-6
            sent_at_s = now_s
            tell(session, Frame(wire.PONG, payload=ping.payload + bytes(4)), now_s)
    assert sent_at_s == pytest.approx(3, abs=KEEP_ALIVE_S)


def test_whatever_else_is_sent_keeps_a_board_alive_as_well() -> None:
    session = opened()
    session.is_holding = True
    for number in range(10):
        ask(session, number, now_s=number / 10)
        tell(session, answer(number, number, ack=number + 1), number / 10)
        session.tick(number / 10 + ACK_DELAY_S)
    assert wire.PING not in kinds(session)


def test_what_is_not_held_is_left_in_peace() -> None:
    session = opened()
    session.tick(KEEP_ALIVE_S)
    assert kinds(session) == []
    session.is_holding = True
    session.end("pulled")
    assert session.due_at_s is None


def test_round_trips_are_told_by_pings_and_by_acknowledgements() -> None:
    session = opened()
    ask(session, now_s=0.1)
    tell(session, Frame(wire.ACK, ack=1, credit=200), 0.104)
    session.take_output()
    session.tick(1.0)
    (ping,) = said(session)
    tell(session, Frame(wire.PONG, payload=ping.payload + bytes(4)), 1.008)
    # Of a ping long past, and of none of ours
    tell(session, Frame(wire.PONG, payload=bytes(8)), 1.009)
    trips = session.counters.round_trips
    assert trips.percentile_ms(0) == pytest.approx(4)
    assert trips.percentile_ms(0.99) == pytest.approx(8)
