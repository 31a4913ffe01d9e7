"""Subscriptions, looked at from outside: what is told, when, and what is not."""

import itertools
import struct
import time

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import GPIO_READ, PINS

LISTEN_S = 0.15
PATIENCE_S = 20.0
# The collector finds what it finds: less than four bytes for each event
HEAP_NOISE_BYTES = 1_500
NO_PIN = 255
LOW, HIGH = 1_000, 2_000


def subscribe(wire: Wire, pin: str, mode: int = codec.SUBSCRIBE_CHANGE, **said: int) -> None:
    index = PINS[pin][0] if pin else NO_PIN
    wire.call(
        codec.METHOD_SUBSCRIBE,
        struct.pack(
            codec.SUBSCRIBE_FORMAT,
            said.get("number", 0),
            index,
            mode,
            said.get("least_ms", 0),
            said.get("low", 0),
            said.get("high", 0),
            said.get("queue", 8),
            said.get("credits", 100),
        ),
    )


def heard(
    wire: Wire, limit_s: float = LISTEN_S, expected: int = 0
) -> list[tuple[int, int, int, int, int]]:
    """Every event so far: subscription, number, dropped, device time, value.

    On a busy machine the expected ones may take longer; what comes after them is heard too.
    """
    until_s = time.monotonic() + PATIENCE_S
    while len(wire.events) < expected and time.monotonic() < until_s:
        for _ in wire.frames(limit_s):
            pass
    for _ in wire.frames(limit_s):
        pass
    return [struct.unpack(codec.EVENT_FORMAT, frame.payload) for frame in wire.events]


def values(wire: Wire, limit_s: float = LISTEN_S, expected: int = 0) -> list[int]:
    return [value for *_, value in heard(wire, limit_s, expected)]


def give_credit(wire: Wire) -> None:
    """As much as anybody needs, once the board has looked at everything that has happened."""
    wire.status()
    wire.call(codec.METHOD_CREDIT, bytes([0, 100]))


def at_rest(board: BoardSim) -> None:
    board.set(button=0, light=1.5, temperature=24.5)


@pytest.fixture(autouse=True)
def rested(board: BoardSim) -> None:
    at_rest(board)


def test_a_button_that_bounces_gives_one_event(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", least_ms=30)
    board.order({"bounce": {"button": 1}})
    assert values(wire, expected=1) == [1]
    board.order({"bounce": {"button": 0}})
    assert values(wire, expected=2) == [1, 0]


def test_the_same_bounces_without_a_least_interval_are_all_told(
    wire: Wire, board: BoardSim
) -> None:
    subscribe(wire, "button")
    board.order({"bounce": {"button": 1}})
    assert values(wire, expected=7) == [1, 0, 1, 0, 1, 0, 1]


def test_an_event_bears_the_time_at_which_it_happened(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button")
    before_ms = wire.status()[1]
    board.set(button=1)
    ((_, _, _, at_ms, _),) = heard(wire, expected=1)
    assert before_ms <= at_ms <= wire.status()[1] - LISTEN_S * 500


def test_without_credits_nothing_is_told_until_there_are_some(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", credits=1)
    for value in (1, 0, 1):
        board.set(button=value)
    assert values(wire, expected=1) == [1]
    wire.call(codec.METHOD_CREDIT, bytes([0, 2]))
    assert values(wire, expected=3) == [1, 0, 1]


def test_a_full_queue_loses_the_oldest_and_tells_how_many(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", queue=4, credits=0)
    for press in range(10):
        board.set(button=(press + 1) % 2)
    give_credit(wire)
    told = heard(wire, expected=4)
    assert [(number, dropped) for _, number, dropped, _, _ in told] == [
        (7, 6),
        (8, 0),
        (9, 0),
        (10, 0),
    ]
    assert [value for *_, value in told] == [1, 0, 1, 0]


def test_where_only_the_latest_counts_only_the_latest_is_kept(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", queue=0, credits=0)
    for value in (1, 0, 1):
        board.set(button=value)
    give_credit(wire)
    assert [
        (number, dropped, value) for _, number, dropped, _, value in heard(wire, expected=1)
    ] == [(3, 2, 1)]


def test_a_threshold_has_two_sides_and_a_gap_between_them(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "light", codec.SUBSCRIBE_THRESHOLD, low=LOW, high=HIGH)
    assert values(wire, 0.05) == []
    told = []
    for volts in (2.1, 1.5, 2.2, 0.9, 1.5, 0.8, 2.3):
        board.set(light=volts)
        told = values(wire, 0.05)
    assert told == pytest.approx([2100, 900, 2300], abs=1)


def test_a_subscriber_hears_at_once_that_the_limit_is_passed(wire: Wire, board: BoardSim) -> None:
    board.set(light=2.5)
    subscribe(wire, "light", codec.SUBSCRIBE_THRESHOLD, low=LOW, high=HIGH)
    assert values(wire, expected=1) == pytest.approx([2500], abs=1)


def test_a_voltage_changes_only_by_what_was_called_a_change(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "light", low=100, high=100)
    for volts in (1.55, 1.45, 1.65, 1.6):
        board.set(light=volts)
        told = values(wire, 0.05)
    assert told == pytest.approx([1650], abs=1)


def test_a_periodic_subscription_tells_at_its_interval(wire: Wire) -> None:
    subscribe(wire, "", codec.SUBSCRIBE_PERIODIC, least_ms=50)
    told = heard(wire, 0.4)
    gaps = [later[3] - earlier[3] for earlier, later in itertools.pairwise(told)]
    assert {value for *_, value in told} == {245}
    assert 5 <= len(told) <= 9
    assert all(50 <= gap <= 100 for gap in gaps)


def test_a_new_session_begins_without_subscriptions(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button")
    wire.greet()
    board.set(button=1)
    assert values(wire) == []


def test_what_was_unsubscribed_is_not_told(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", number=3)
    subscribe(wire, "button", number=4)
    wire.call(codec.METHOD_UNSUBSCRIBE, bytes([3]))
    board.set(button=1)
    assert [(number, value) for number, *_, value in heard(wire, expected=1)] == [(4, 1)]
    wire.call(codec.METHOD_UNSUBSCRIBE, bytes([4]))
    board.set(button=0)
    assert len(heard(wire)) == 1


def test_answers_come_while_nobody_acknowledges_events(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", queue=8)
    for press in range(20):
        board.set(button=(press + 1) % 2)
    begun_s = time.monotonic()
    for _ in range(10):
        wire.call(GPIO_READ, PINS["led"])
    assert time.monotonic() - begun_s < 1.0


def test_a_pi_that_has_gone_silent_stops_neither_the_board_nor_the_next_session(
    wire: Wire, board: BoardSim
) -> None:
    subscribe(wire, "button", credits=200)
    for press in range(100):
        board.set(button=(press + 1) % 2)
    wire.greet()
    assert wire.call(GPIO_READ, PINS["button"]) == b"\x00"
    assert values(wire) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((16, 0, 1, 0, 0, 0, 0, 0), codec.OUT_OF_RANGE),
        ((0, 0, 4, 0, 0, 0, 0, 0), codec.OUT_OF_RANGE),
        ((0, 0, 0, 0, 0, 0, 0, 0), codec.OUT_OF_RANGE),
        ((0, 0, 3, 0, 2, 1, 0, 0), codec.OUT_OF_RANGE),
        ((0, 0, 1, 0, 0, 0, 9, 0), codec.OUT_OF_RANGE),
        ((0, 99, 1, 0, 0, 0, 0, 0), codec.BAD_PIN),
        ((0, 0, 0x11, 0, 0, 0, 0, 0), codec.BAD_PIN),
    ],
)
def test_a_subscription_that_means_nothing_is_refused(
    wire: Wire, arguments: tuple[int, ...], code: int
) -> None:
    with pytest.raises(Refused) as refused:
        wire.call(codec.METHOD_SUBSCRIBE, struct.pack(codec.SUBSCRIBE_FORMAT, *arguments))
    assert refused.value.code == code


def test_credit_for_what_nobody_subscribed_to_is_refused(wire: Wire) -> None:
    with pytest.raises(Refused):
        wire.call(codec.METHOD_CREDIT, bytes([7, 1]))


def test_a_thousand_events_are_told_or_counted(wire: Wire, board: BoardSim) -> None:
    subscribe(wire, "button", credits=0)
    for press in range(1, 1001):
        board.set(button=press % 2)
        if press % 50 == 0:
            wire.call(codec.METHOD_CREDIT, bytes([0, 3]))
    give_credit(wire)
    told = heard(wire, 1.0)
    assert len(told) < 1000
    assert len(told) + sum(dropped for _, _, dropped, _, _ in told) == 1000
    assert told[-1][1] == 1000


def test_the_heap_does_not_grow_with_events(wire: Wire, board: BoardSim) -> None:
    def free_bytes_after(presses: int) -> int:
        for press in range(presses):
            board.set(button=(press + 1) % 2)
            if press % 8 == 7:
                wire.call(codec.METHOD_CREDIT, bytes([0, 8]))
        for _ in wire.frames(LISTEN_S):
            pass
        free: int = board.order({"get": True})["heap_free"]
        return free

    subscribe(wire, "button", credits=8)
    # The first ones fill what is kept anyway
    before = free_bytes_after(100)
    assert free_bytes_after(400) >= before - HEAP_NOISE_BYTES
    assert len(wire.events) > 100
