from typing import Any

import msgspec
import pytest

from agent.channels.matrix.encryption import devices, room_keys
from agent.channels.matrix.encryption.olm import OlmMessage
from agent.channels.matrix.encryption.room_keys import (
    USUAL_MESSAGES,
    USUAL_S,
    DecryptError,
    RoomKey,
    RoomKeyMissing,
    RoomKeyRules,
    SenderDeviceUnknown,
    room_key_in,
)
from agent.channels.matrix.events import MatrixEvent
from tests.channels.matrix.encryption.conftest import Parties, Party

RULES = RoomKeyRules(USUAL_MESSAGES, USUAL_S)


def says(anna: Party, text: str, room: str = "!r", number: int = 1) -> MatrixEvent:
    room_keys.prepare(anna.shelf, anna.us, room, RULES, [], 1.0)
    content: Any = room_keys.say(anna.shelf, anna.us, room, "m.room.message", {"body": text})
    return MatrixEvent("m.room.encrypted", f"${number}", "@anna:x", None, 1, content)


def key_of(anna: Party, room: str = "!r") -> RoomKey:
    room_keys.prepare(anna.shelf, anna.us, room, RULES, [], 1.0)
    told = room_keys.room_key(anna.shelf, room)
    heard = OlmMessage("m.room_key", dict(told), "@anna:x", anna.us.curve, anna.us.ed)
    key = room_key_in(heard)
    assert key is not None
    return key


def met(party: Parties) -> tuple[Party, Party]:
    us, anna = party("@us:x", "OURS"), party("@anna:x")
    us.knows(anna)
    return us, anna


def test_a_message_is_read_with_its_key(party: Parties) -> None:
    us, anna = met(party)
    assert room_keys.learn(us.shelf, key_of(anna), 1.0)
    told = room_keys.read(us.shelf, "!r", says(anna, "hello"))
    assert (told["type"], told["content"]) == ("m.room.message", {"body": "hello"})


def test_a_message_before_its_key_waits(party: Parties) -> None:
    us, anna = met(party)
    early = says(anna, "early")
    with pytest.raises(RoomKeyMissing):
        room_keys.read(us.shelf, "!r", early)
    # From now on: not for what was said before
    assert room_keys.learn(us.shelf, key_of(anna), 1.0)
    with pytest.raises(RoomKeyMissing):
        room_keys.read(us.shelf, "!r", early)
    assert room_keys.read(us.shelf, "!r", says(anna, "late", number=2))


def test_the_same_message_is_the_same_event_for_good(party: Parties) -> None:
    us, anna = met(party)
    room_keys.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "open the door")
    for _ in range(2):
        assert room_keys.read(us.shelf, "!r", event)
    again = msgspec.structs.replace(event, event_id="$2")
    with pytest.raises(DecryptError, match="said before"):
        room_keys.read(us.shelf, "!r", again)


def test_a_key_is_its_senders_and_its_rooms(party: Parties) -> None:
    us, anna = met(party)
    room_keys.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "hello")
    with pytest.raises(DecryptError, match="somebody else's"):
        room_keys.read(us.shelf, "!r", msgspec.structs.replace(event, sender="@eve:x"))
    with pytest.raises(RoomKeyMissing):
        room_keys.read(us.shelf, "!other", event)


def test_a_message_for_another_room_is_none_even_with_its_key(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    moved = RoomKey("!other", key.key, key.sender, key.curve, key.ed)
    assert room_keys.learn(us.shelf, moved, 1.0)
    with pytest.raises(DecryptError, match="another room"):
        room_keys.read(us.shelf, "!other", says(anna, "hello"))


def test_nobody_takes_the_place_of_a_key(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    assert room_keys.learn(us.shelf, key, 1.0)
    assert not room_keys.learn(us.shelf, key, 1.0)
    eves = RoomKey(key.room, key.key, "@eve:x", "eve", "eve")
    assert not room_keys.learn(us.shelf, eves, 1.0)
    assert room_keys.read(us.shelf, "!r", says(anna, "hello"))


def test_an_older_beginning_of_a_key_takes_its_place(party: Parties) -> None:
    us, anna = met(party)
    first = key_of(anna)
    early = says(anna, "early")
    assert room_keys.learn(us.shelf, key_of(anna), 1.0)
    assert room_keys.learn(us.shelf, first, 1.0)
    assert room_keys.read(us.shelf, "!r", early)


def test_a_device_that_is_not_its_senders_is_not_believed(party: Parties) -> None:
    us, anna = party("@us:x", "OURS"), party("@anna:x")
    room_keys.learn(us.shelf, key_of(anna), 1.0)
    with pytest.raises(SenderDeviceUnknown):
        room_keys.read(us.shelf, "!r", says(anna, "hello"))
    us.knows(anna)
    assert room_keys.read(us.shelf, "!r", says(anna, "hello", number=2))


def test_a_device_that_says_that_it_is_another_is_not_believed(party: Parties) -> None:
    us, anna = met(party)
    key = key_of(anna)
    room_keys.learn(us.shelf, RoomKey(key.room, key.key, key.sender, key.curve, "other"), 1.0)
    with pytest.raises(DecryptError, match="another one"):
        room_keys.read(us.shelf, "!r", says(anna, "hello"))


def test_what_a_device_said_before_it_went_is_read(party: Parties) -> None:
    us, anna = met(party)
    room_keys.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "goodbye")
    devices.found(us.shelf, "@anna:x", {}, 1)
    assert room_keys.read(us.shelf, "!r", event)


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
    room_keys.learn(us.shelf, key_of(anna), 1.0)
    event = says(anna, "hello")
    broken = msgspec.structs.replace(event, content={**event.content, **change})
    with pytest.raises(DecryptError):
        room_keys.read(us.shelf, "!r", broken)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"algorithm": room_keys.MEGOLM, "room_id": "!r", "session_key": 1},
        {"algorithm": room_keys.MEGOLM, "room_id": "\ud800", "session_key": "x"},
        {"algorithm": "m.other", "room_id": "!r", "session_key": "x"},
    ],
)
def test_whatever_stands_for_a_key_is_none(told: dict[str, Any]) -> None:
    assert room_key_in(OlmMessage("m.room_key", told, "@a:x", "c", "e")) is None


@pytest.mark.parametrize("key", ["", "x", "\ud800", "AAAA" * 80])
def test_a_key_that_is_none_is_not_kept(party: Parties, key: str) -> None:
    us = party("@us:x")
    assert not room_keys.learn(us.shelf, RoomKey("!r", key, "@a:x", "c", "e"), 1.0)


def test_the_oldest_keys_go_first(party: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    us, anna = met(party)
    monkeypatch.setattr(room_keys, "MAX_SESSIONS", 3)
    for number in range(5):
        room_keys.learn(us.shelf, key_of(anna, f"!{number}"), float(number))
        room_keys.read(us.shelf, f"!{number}", says(anna, "hello", f"!{number}", number))
    rooms = [row[0] for row in us.shelf.db.execute("SELECT room FROM heard ORDER BY room")]
    assert rooms == ["!2", "!3", "!4"]
    assert us.shelf.db.execute("SELECT count(*) FROM messages").fetchone()[0] == 3
