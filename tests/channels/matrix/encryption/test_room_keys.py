from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.encryption import room_keys
from agent.channels.matrix.encryption.devices import MatrixDevice
from agent.channels.matrix.encryption.room_keys import (
    LONGEST_S,
    MOST_MESSAGES,
    SHORTEST_S,
    USUAL_MESSAGES,
    USUAL_S,
    RoomKeyRules,
    rules_in,
)
from tests.channels.matrix.encryption.conftest import Parties, Party

ANNA, BERT = (
    MatrixDevice(f"@{name}:x", "D", f"curve of {name}", "ed") for name in ("anna", "bert")
)
RULES = RoomKeyRules(3, SHORTEST_S)


def prepared(
    us: Party, devices: list[MatrixDevice], now_s: float = 0.0
) -> tuple[object, list[MatrixDevice]]:
    """The key, and who is to be given it."""
    missing = room_keys.prepare(us.shelf, us.us, "!r", RULES, devices, now_s)
    key = room_keys.room_key(us.shelf, "!r")["session_id"]
    room_keys.given(us.shelf, "!r", key, missing)
    return key, missing


def test_a_key_is_given_once_and_to_newcomers_later(party: Parties) -> None:
    us = party("@us:x")
    key, missing = prepared(us, [ANNA])
    assert missing == [ANNA]
    assert prepared(us, [ANNA]) == (key, [])
    assert prepared(us, [ANNA, BERT]) == (key, [BERT])


def test_whoever_goes_takes_the_key_along(party: Parties) -> None:
    us = party("@us:x")
    key, _ = prepared(us, [ANNA, BERT])
    other, missing = prepared(us, [ANNA])
    assert other != key
    assert missing == [ANNA]


def test_a_key_ends_by_messages_by_age_and_by_a_clock_that_went_back(party: Parties) -> None:
    us = party("@us:x")
    key, _ = prepared(us, [ANNA], 100.0)
    for _ in range(3):
        assert prepared(us, [ANNA], 100.0)[0] == key
        room_keys.say(us.shelf, us.us, "!r", "m.room.message", {})
    second, missing = prepared(us, [ANNA], 100.0)
    assert second != key
    assert missing == [ANNA]
    third, _ = prepared(us, [ANNA], 100.0 + SHORTEST_S)
    assert third != second
    assert prepared(us, [ANNA], 50.0)[0] != third


def test_a_key_that_is_no_more_is_not_given(party: Parties) -> None:
    us = party("@us:x")
    room_keys.prepare(us.shelf, us.us, "!r", RULES, [ANNA], 0.0)
    room_keys.given(us.shelf, "!r", "another one", [ANNA])
    assert prepared(us, [ANNA])[1] == [ANNA]


def test_what_belongs_to_what_is_seen_and_the_rest_is_not(party: Parties) -> None:
    us = party("@us:x")
    prepared(us, [])
    about = {"rel_type": "m.replace", "event_id": "$1"}
    content = {"body": "hunter2", "m.relates_to": about}
    told = room_keys.say(us.shelf, us.us, "!r", "m.room.message", content)
    assert told["m.relates_to"] == about
    assert "hunter2" not in repr(told)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(ANYTHING, ANYTHING)
def test_whatever_a_room_wants_is_within_reason(messages: object, after_ms: object) -> None:
    rules = rules_in({"rotation_period_msgs": messages, "rotation_period_ms": after_ms})
    assert 1 <= rules.messages <= MOST_MESSAGES
    assert SHORTEST_S <= rules.after_s <= LONGEST_S


def test_a_room_that_wants_nothing_has_what_is_usual() -> None:
    assert rules_in({}) == RoomKeyRules(USUAL_MESSAGES, USUAL_S)
    assert rules_in({"rotation_period_msgs": 7}) == RoomKeyRules(7, USUAL_S)
