from agent.channels.matrix.encryption.rooms import (
    LONGEST_S,
    MAX_WAITING,
    WaitingEvent,
    held,
    hold,
    release,
)
from agent.channels.matrix.events import MatrixEvent
from tests.channels.matrix.encryption.conftest import Parties


def waiting(number: int, since_s: float = 0.0) -> WaitingEvent:
    event = MatrixEvent("m.room.encrypted", f"${number}", "@a:x", None, 1, {"session_id": "日"})
    return WaitingEvent("!r", event, since_s)


def test_they_come_back_whole_and_in_order(party: Parties) -> None:
    shelf = party("@us:x").shelf
    told = [waiting(number, float(number)) for number in (3, 1, 2)]
    for one in [*told, waiting(1, 99.0)]:
        hold(shelf, one)
    assert held(shelf) == told
    release(shelf, "$1")
    assert held(shelf) == [told[0], told[2]]


def test_they_do_not_wait_for_ever_and_are_not_too_many(party: Parties) -> None:
    shelf = party("@us:x").shelf
    hold(shelf, waiting(0))
    hold(shelf, waiting(1, LONGEST_S + 1))
    assert held(shelf) == [waiting(1, LONGEST_S + 1)]
    for number in range(2, MAX_WAITING + 10):
        hold(shelf, waiting(number, LONGEST_S + 1))
    assert len(held(shelf)) == MAX_WAITING
