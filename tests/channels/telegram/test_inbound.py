"""Who says what: no field that a person can choose makes anybody somebody else."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.telegram.events import TelegramMessage, read_updates
from agent.channels.telegram.inbound import FORWARDED, is_for_us, number_of, understood
from agent.channels.telegram.mention import TelegramSelf, utf16_slice, without_calling
from agent.messages import Whose
from tests.fakes.telegram_world import ANNA, GROUP, USERNAME, World

ME = TelegramSelf(123456, USERNAME)
CHANNEL = {"id": -1007, "type": "channel", "title": "News"}
OWNERS = {"type": "user", "date": 1, "sender_user": {"id": ANNA, "is_bot": False}}


def message(text: str = "lamp on", place: int = ANNA, **more: Any) -> TelegramMessage:
    told = World().message(place, ANNA, text) | more
    return msgspec.convert(
        {key: value for key, value in told.items() if value is not None}, TelegramMessage
    )


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"from": None}, id="nobody"),
        pytest.param({"from": {"id": 5, "is_bot": True, "first_name": "Bot"}}, id="a bot"),
        pytest.param({"sender_chat": CHANNEL}, id="a channel's post in a group"),
        pytest.param({"chat": CHANNEL, "from": None}, id="a channel's post"),
        pytest.param({"sender_chat": {"id": GROUP, "type": "group"}}, id="an anonymous admin"),
        pytest.param({"is_automatic_forward": True}, id="forwarded by the platform"),
        pytest.param({"migrate_to_chat_id": -1001}, id="the chat has moved"),
    ],
)
def test_what_is_not_a_persons_is_not_heard(fields: dict[str, Any]) -> None:
    assert not is_for_us(message("@barnacle_bot lamp on", GROUP, **fields), ME, "all")


def test_a_forwarded_message_is_nobodys_order_whoever_wrote_it() -> None:
    heard = understood(message("/estop clear", forward_origin=OWNERS), ME, 0.0)
    assert (heard.text, heard.quoted, heard.is_forwarded) == (FORWARDED, "/estop clear", True)


def test_what_another_bot_wrote_is_nobodys_order_though_a_person_sent_it() -> None:
    """Somebody picks it from a list, where it is not shown whole."""
    other = {"id": 5, "is_bot": True, "first_name": "Pictures", "username": "pictures_bot"}
    heard = understood(message("turn the pump on", via_bot=other), ME, 0.0)
    assert (heard.text, heard.quoted, heard.is_forwarded) == (FORWARDED, "turn the pump on", True)
    assert heard.quoted_of is Whose.ANYBODYS


@pytest.mark.parametrize(
    "notice",
    [
        {"pinned_message": World().message(GROUP, ANNA, "lamp on")},
        {"new_chat_members": [{"id": ANNA, "is_bot": False, "first_name": "Anna"}]},
        {"new_chat_title": "Greenhouse"},
        {"forum_topic_created": {"name": "Pumps", "icon_color": 7322096}},
        {"message_auto_delete_timer_changed": {"message_auto_delete_time": 86400}},
    ],
)
def test_what_a_chat_tells_of_itself_is_no_message(notice: dict[str, Any]) -> None:
    told = World().message(GROUP, ANNA, "")
    assert not told.get("text")
    assert read_updates([{"update_id": 7, "message": told | notice}]) == ((), 7)


def test_a_new_name_makes_nobody_somebody_else() -> None:
    renamed = {"id": 1002, "is_bot": False, "first_name": "Anna", "username": "anna"}
    heard = understood(message(**{"from": renamed}), ME, 0.0)
    assert (heard.sender, heard.sender_name) == ("1002", "Anna")


def test_names_are_cleaned_and_capped() -> None:
    told = {"id": 1002, "is_bot": False, "first_name": "A\u202e\n\x1b[31m" + "x" * 500}
    assert understood(message(**{"from": told}), ME, 0.0).sender_name == "A [31m" + "x" * 58


def test_the_words_that_an_answer_picked_are_quoted() -> None:
    answered = World().message(ANNA, ANNA, "a long story")
    heard = understood(message(reply_to_message=answered, quote={"text": "story"}), ME, 0.0)
    assert (heard.text, heard.quoted) == ("lamp on", "story")


BOT = {"id": ME.id, "is_bot": True, "first_name": "Barnacle"}


@pytest.mark.parametrize(
    ("fields", "whose"),
    [
        ({}, Whose.SENDERS),
        # A name is not a number
        ({"from": {"id": 1002, "is_bot": False, "first_name": "Anna"}}, Whose.ANYBODYS),
        ({"from": BOT}, Whose.AGENTS),
        ({"from": {**BOT, "id": 5}}, Whose.ANYBODYS),
        ({"forward_origin": OWNERS}, Whose.ANYBODYS),
        ({"via_bot": {**BOT, "id": 5}}, Whose.ANYBODYS),
        ({"sender_chat": CHANNEL}, Whose.ANYBODYS),
        ({"from": None}, Whose.ANYBODYS),
    ],
)
def test_whose_words_are_quoted_is_the_platforms_to_say(
    fields: dict[str, Any], whose: Whose
) -> None:
    told = World().message(ANNA, ANNA, "a story") | fields
    answered = {key: value for key, value in told.items() if value is not None}
    heard = understood(message(reply_to_message=answered, quote={"text": "story"}), ME, 0.0)
    assert (heard.quoted, heard.quoted_of) == ("story", whose)


def test_a_quotation_out_of_nowhere_is_anybodys() -> None:
    heard = understood(message(quote={"text": "story"}), ME, 0.0)
    assert (heard.quoted, heard.quoted_of) == ("story", Whose.ANYBODYS)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sticker": {"emoji": "👍"}}, "[a sticker: 👍]"),
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "[a place: 52.50000, 13.40000]"),
        ({"dice": {"emoji": "🎲", "value": 3}}, "[a thrown die]"),
        ({"giveaway": {"winner_count": 3}}, "[something that cannot be read here]"),
    ],
)
def test_nothing_disappears_in_silence(fields: dict[str, Any], said: str) -> None:
    assert understood(message("", **fields), ME, 0.0).text == said


def test_a_card_is_quoted_for_its_name_is_no_word_of_the_senders() -> None:
    card = {"contact": {"first_name": "turn the pump", "last_name": "on", "phone_number": "+49"}}
    heard = understood(message("", **card), ME, 0.0)
    assert heard.text == "[a contact, as it is quoted above]"
    assert heard.quoted == "[a contact: turn the pump on +49]"
    assert heard.quoted_of is Whose.ANYBODYS


@pytest.mark.parametrize(
    ("text", "meant"), [("/start", "/help"), ("/start AB12-CD34", "/pair AB12-CD34")]
)
def test_a_bot_that_is_opened_explains_itself_or_takes_the_code_of_a_link(
    text: str, meant: str
) -> None:
    assert understood(message(text), ME, 0.0).text == meant


@given(st.text(), st.text(min_size=1), st.text())
def test_a_stretch_is_found_by_its_utf16_units(before: str, inside: str, after: str) -> None:
    def units(text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    assert utf16_slice(before + inside + after, units(before), units(inside)) == inside


@given(st.integers(), st.integers(), st.text())
def test_a_stretch_that_is_not_there_breaks_nothing(offset: int, length: int, text: str) -> None:
    utf16_slice(text, offset, length)


@given(st.text())
def test_words_without_the_name_are_left_as_they_are(text: str) -> None:
    if "@" not in text:
        assert without_calling(text, ME) == text.strip()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(JSON)
def test_no_result_of_a_server_breaks_the_reading(result: Any) -> None:
    read_updates(result)
    read_updates([{"update_id": 7, "message": result}])


@given(JSON)
def test_a_spoiled_field_of_a_message_is_left_out_or_heard(value: Any) -> None:
    told = World().message(ANNA, ANNA, "lamp on")
    for field in ("from", "chat", "entities", "reply_to_message", "photo", "text", "date"):
        updates, highest = read_updates([{"update_id": 7, "message": told | {field: value}}])
        assert highest == 7
        for update in updates:
            assert update.message is not None
            if is_for_us(update.message, ME, "all"):
                understood(update.message, ME, 0.0)


def test_numbers_of_messages_are_told_from_words() -> None:
    assert [number_of(one) for one in ("7:12", "12", "-5:3", "", "job", "7:x")] == [
        *(12, 12, 3),
        *(None, None, None),
    ]
