import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.client import quoted
from agent.channels.matrix.events import MatrixEvent, events_in
from agent.channels.matrix.inbound import (
    MatrixContext,
    MatrixSelf,
    file_of,
    is_for_us,
    is_message,
    understood,
)
from agent.messages import Whose

ME = MatrixSelf("@barnacle:example.org", "Barnacle")
TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["m.text", "m.file", "m.thread", "m.replace", "\ud800", "> <x\n", "@barnacle hi"]
)
KEYS = ["msgtype", "body", "m.relates_to", "m.in_reply_to", "event_id", "rel_type", "info"]
ANYTHING = st.recursive(
    TEXT | st.integers() | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KEYS, "m.mentions", "user_ids", "url"]), inner, max_size=5
        )
    ),
    max_leaves=15,
)


def said(body: str, **more: object) -> MatrixEvent:
    content = {"msgtype": "m.text", "body": body, **more}
    return MatrixEvent("m.room.message", "$1", "@anna:example.org", None, 1, content)


@given(ANYTHING)
def test_whatever_somebody_puts_into_an_event_is_a_message_or_none(content: object) -> None:
    told = {"type": "m.room.message", "event_id": "$1", "sender": "@a:b", "content": content}
    for event in events_in([told]):
        around = MatrixContext("!room", is_group=True, sender_name="", answered=event)
        is_for_us(event, around, ME, "mention")
        file_of(event)
        if is_message(event, ME):
            heard = understood(event, around, ME, 0)
            told_again = f"{heard.text}{heard.thread}{heard.quoted}"
            assert told_again.encode()
            assert quoted(event.relation.answers).isascii()


def test_in_a_group_it_hears_its_names_and_nobody_who_is_called_alike() -> None:
    around = MatrixContext("!room", is_group=True, sender_name="Anna")
    for body in ("@barnacle: hi", "Barnacle, hi", "hi @barnacle:example.org", "/stop"):
        assert is_for_us(said(body), around, ME, "mention"), body
    for body in ("hi", "barnacles are crustaceans", "/stop it"):
        assert not is_for_us(said(body), around, ME, "mention"), body
    named = said("hi", **{"m.mentions": {"user_ids": [ME.account]}})
    assert is_for_us(named, around, ME, "mention")
    assert not is_for_us(named, around, ME, "off")


def test_a_name_before_the_words_is_left_out() -> None:
    around = MatrixContext("!room", is_group=True, sender_name="Anna")
    assert understood(said("Barnacle: lamp on"), around, ME, 0).text == "lamp on"
    assert understood(said("tell barnacle"), around, ME, 0).text == "tell barnacle"


def test_what_is_passed_on_is_quoted() -> None:
    around = MatrixContext("!room", is_group=False, sender_name="Anna")
    heard = understood(said("pump on", **{"m.forwarded": {"sender": "@eve:b"}}), around, ME, 0)
    assert (heard.text, heard.quoted) == ("[a forwarded message]", "pump on")
    assert (heard.is_forwarded, heard.quoted_of) == (True, Whose.ANYBODYS)


@pytest.mark.parametrize("mark", ["org.matrix.msc3245.voice", "m.voice"])
def test_only_what_was_recorded_in_the_room_is_speech(mark: str) -> None:
    sound = said("talk.mp3", msgtype="m.audio", url="mxc://a/b")
    recorded = said("Voice message", msgtype="m.audio", url="mxc://a/b", **{mark: {}})
    picture = said("a.png", msgtype="m.image", url="mxc://a/b", **{mark: {}})
    found = [file_of(one) for one in (sound, recorded, picture)]
    assert [(one.what, one.is_speech) for one in found if one] == [
        ("a sound file", False),
        ("a voice message", True),
        ("a picture", False),
    ]
