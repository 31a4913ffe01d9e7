from typing import Any

import msgspec
import pytest

from agent.channels.matrix.encryption import devices, hearing, speaking
from agent.channels.matrix.encryption.hearing import (
    KeyMissing,
    RoomKey,
    SenderUnknown,
    Unread,
    room_key_in,
)
from agent.channels.matrix.encryption.pairs import Heard
from agent.channels.matrix.encryption.speaking import USUAL_MESSAGES, USUAL_S, Rules
from agent.channels.matrix.events import Event
from tests.channels.matrix.encryption.conftest import Parties, Party

RULES = Rules(USUAL_MESSAGES, USUAL_S)


def says(anna: Party, text: str, room: str = "!r", number: int = 1) -> Event:
    speaking.prepare(anna.shelf, anna.us, room, RULES, [], 1.0)
    content: Any = speaking.say(anna.shelf, anna.us, room, "m.room.message", {"body": text})
    return Event("m.room.encrypted", f"${number}", "@anna:x", None, 1, content)


def key_of(anna: Party, room: str = "!r") -> RoomKey:
    speaking.prepare(anna.shelf, anna.us, room, RULES, [], 1.0)
    told = speaking.room_key(anna.shelf, room)
    heard = Heard("m.room_key", dict(told), "@anna:x", anna.us.curve, anna.us.ed)
    key = room_key_in(heard)
    assert key is not None
    return key


def met(party: Parties) -> tuple[Party, Party]:
    us, anna = party("@us:x", "OURS"), party("@anna:x")
    us.knows(anna)
    return us, anna


def test_a_message_is_read_with_its_key(party: Parties) -> None:
    us, anna = met(party)
    assert hearing.learn(us.shelf, key_of(anna), 1.0)
    told = hearing.read(us.shelf, "!r", says(anna, "hello"))
    assert (told["type"], told["content"]) == ("m.room.message", {"body": "hello"})


def test_a_message_before_its_key_waits(party: Parties) -> None:
    us, anna = met(party)
    early = says(anna, "early")
    with pytest.raises(KeyMissing):
        hearing.read(us.shelf, "!r", early)
    # From now on: not for what was said before
    assert hearing.learn(us.shelf, key_of(anna), 1.0)
    with pytest.raises(KeyMissing):
        hearing.read(us.shelf, "!r", early)
    assert hearing.read(us.shelf, "!r", says(anna, "late", number=2))


def test_the_same_message_is_the_same_event_for_good(party: Parties) -> None:
    us, anna = met(party)
    hearing.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "open the door")
    for _ in range(2):
        assert hearing.read(us.shelf, "!r", event)
    again = msgspec.structs.replace(event, event_id="$2")
    with pytest.raises(Unread, match="said before"):
        hearing.read(us.shelf, "!r", again)


def test_a_key_is_its_senders_and_its_rooms(party: Parties) -> None:
    us, anna = met(party)
    hearing.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "hello")
    with pytest.raises(Unread, match="somebody else's"):
        hearing.read(us.shelf, "!r", msgspec.structs.replace(event, sender="@eve:x"))
    with pytest.raises(KeyMissing):
        hearing.read(us.shelf, "!other", event)


def test_a_message_for_another_room_is_none_even_with_its_key(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    moved = RoomKey("!other", key.key, key.sender, key.curve, key.ed)
    assert hearing.learn(us.shelf, moved, 1.0)
    with pytest.raises(Unread, match="another room"):
        hearing.read(us.shelf, "!other", says(anna, "hello"))


def test_nobody_takes_the_place_of_a_key(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    assert hearing.learn(us.shelf, key, 1.0)
    assert not hearing.learn(us.shelf, key, 1.0)
    eves = RoomKey(key.room, key.key, "@eve:x", "eve", "eve")
    assert not hearing.learn(us.shelf, eves, 1.0)
    assert hearing.read(us.shelf, "!r", says(anna, "hello"))


def test_an_older_beginning_of_a_key_takes_its_place(party: Parties) -> None:
    us, anna = met(party)
    first = key_of(anna)
    early = says(anna, "early")
    assert hearing.learn(us.shelf, key_of(anna), 1.0)
    assert hearing.learn(us.shelf, first, 1.0)
    assert hearing.read(us.shelf, "!r", early)


def test_a_device_that_is_not_its_senders_is_not_believed(party: Parties) -> None:
    us, anna = party("@us:x", "OURS"), party("@anna:x")
    hearing.learn(us.shelf, key_of(anna), 1.0)
    with pytest.raises(SenderUnknown):
        hearing.read(us.shelf, "!r", says(anna, "hello"))
    us.knows(anna)
    assert hearing.read(us.shelf, "!r", says(anna, "hello", number=2))


def test_a_device_that_says_that_it_is_another_is_not_believed(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    hearing.learn(us.shelf, RoomKey(key.room, key.key, key.sender, key.curve, "other"), 1.0)
    with pytest.raises(Unread, match="another one"):
        hearing.read(us.shelf, "!r", says(anna, "hello"))


def test_what_a_device_said_before_it_went_is_read(party: Parties) -> None:
    us, anna = met(party)
    hearing.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "goodbye")
    devices.found(us.shelf, "@anna:x", {}, 1)
    assert hearing.read(us.shelf, "!r", event)


@pytest.mark.parametrize(
    "change",
    [
        {"ciphertext": "AwgA"},
        {"ciphertext": 7},
        {"ciphertext": ""},
        {"algorithm": "m.other"},
        {"session_id": "\ud800"},
        {"session_id": None},
    ],
)
def test_whatever_stands_for_a_message_is_unread(party: Parties, change: dict[str, object]) -> None:
    us, anna = met(party)
    hearing.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "hello")
    broken = msgspec.structs.replace(event, content={**event.content, **change})
    with pytest.raises(Unread):
        hearing.read(us.shelf, "!r", broken)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"algorithm": hearing.MEGOLM, "room_id": "!r", "session_key": 1},
        {"algorithm": hearing.MEGOLM, "room_id": "\ud800", "session_key": "x"},
        {"algorithm": "m.other", "room_id": "!r", "session_key": "x"},
    ],
)
def test_whatever_stands_for_a_key_is_none(told: dict[str, Any]) -> None:
    assert room_key_in(Heard("m.room_key", told, "@a:x", "c", "e")) is None


@pytest.mark.parametrize("key", ["", "x", "\ud800", "AAAA" * 80])
def test_a_key_that_is_none_is_not_kept(party: Parties, key: str) -> None:
    us = party("@us:x")
    assert not hearing.learn(us.shelf, RoomKey("!r", key, "@a:x", "c", "e"), 1.0)


def test_the_oldest_keys_go_first(party: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    us, anna = met(party)
    monkeypatch.setattr(hearing, "MAX_SESSIONS", 3)
    for number in range(5):
        hearing.learn(us.shelf, key_of(anna, f"!{number}"), float(number))
        hearing.read(us.shelf, f"!{number}", says(anna, "hello", f"!{number}", number))
    rooms = [row[0] for row in us.shelf.db.execute("SELECT room FROM heard ORDER BY room")]
    assert rooms == ["!2", "!3", "!4"]
    assert us.shelf.db.execute("SELECT count(*) FROM messages").fetchone()[0] == 3
