import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.channels.matrix.encryption import olm
from agent.channels.matrix.encryption.olm import OlmDecryptError
from agent.channels.matrix.events import MatrixEvent
from tests.channels.matrix.encryption.conftest import Parties, Party

WORDS = {"a": "b"}


def met(party: Parties) -> tuple[Party, Party]:
    us, anna = party("@us:x", "OURS"), party("@anna:x")
    anna.begins(us)
    return us, anna


def test_two_devices_talk_and_name_each_other(party: Parties) -> None:
    us, anna = met(party)
    heard = us.hears(anna.tells(us, "m.room_key", {"room_id": "!r"}))
    assert (heard.kind, heard.content, heard.sender) == ("m.room_key", {"room_id": "!r"}, "@anna:x")
    assert (heard.curve, heard.ed) == (anna.us.curve, anna.us.ed)
    assert anna.hears(us.tells(anna, "m.dummy", {})).kind == "m.dummy"
    for number in range(5):
        assert us.hears(anna.tells(us, "m.x", {"number": number})).content == {"number": number}


def test_messages_may_come_in_any_order_and_each_once(party: Parties) -> None:
    us, anna = met(party)
    told = [anna.tells(us, "m.x", {"number": number}) for number in range(3)]
    assert [us.hears(one).content["number"] for one in told[::-1]] == [2, 1, 0]
    for one in told:
        with pytest.raises(OlmDecryptError) as caught:
            us.hears(one)
        assert caught.value.curve == anna.us.curve


def test_what_was_written_for_another_device_is_not_heard(party: Parties) -> None:
    us, anna = met(party)
    eve = party("@eve:x")
    told = anna.tells(us, "m.x", {})
    with pytest.raises(OlmDecryptError, match="not for this device"):
        eve.hears(told)
    with pytest.raises(OlmDecryptError, match="somebody else"):
        us.hears(msgspec.structs.replace(told, sender="@eve:x"))


def test_what_names_another_recipient_is_not_heard(party: Parties) -> None:
    us, anna = met(party)
    claimed = replace(us.device, user="@somebody:x")
    sealed = olm.say(anna.shelf, anna.us, claimed, "m.x", {})
    event = MatrixEvent("m.room.encrypted", sender="@anna:x", content=sealed or {})
    with pytest.raises(OlmDecryptError, match="somebody else"):
        us.hears(event)


def test_nothing_is_begun_with_a_key_that_the_device_has_not_signed(party: Parties) -> None:
    us, anna = party("@us:x"), party("@anna:x")
    key = {"key": party("@eve:x").us.curve}
    told = {"signed_curve25519:A": key}
    assert not olm.begin(anna.shelf, us.device, told, 1.0)
    assert olm.say(anna.shelf, anna.us, us.device, "m.x", {}) is None


def test_few_beginnings_with_a_device_are_kept(party: Parties) -> None:
    us, anna = party("@us:x"), party("@anna:x")
    for number in range(olm.MAX_PAIRS + 3):
        anna.begins(us)
        assert us.hears(anna.tells(us, "m.x", {"number": number})).content == {"number": number}
    query = "SELECT count(*) FROM pairs"
    for one in (us, anna):
        assert one.shelf.db.execute(query).fetchone()[0] <= olm.MAX_PAIRS


TEXT = st.text(max_size=6) | st.sampled_from([olm.OLM, "\ud800", "AwgA"])
ANYTHING = TEXT | st.integers() | st.none() | st.lists(TEXT, max_size=2)


def test_whatever_comes_ends_nothing(party: Parties) -> None:
    us = party("@us:x")

    @given(sender=TEXT, curve=TEXT, body=ANYTHING, kind=ANYTHING)
    def comes(sender: str, curve: str, body: object, kind: object) -> None:
        for number in (kind, 0, 1):
            sealed = {us.us.curve: {"type": number, "body": body}}
            content = {"algorithm": olm.OLM, "sender_key": curve, "ciphertext": sealed}
            with pytest.raises(OlmDecryptError):
                us.hears(MatrixEvent("m.room.encrypted", sender=sender, content=content))

    comes()
