import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.signal.events import SignalEvent, SignalMention, read_arrival
from agent.channels.signal.inbound import (
    MAX_MENTIONS,
    VIEW_ONCE,
    SignalSelf,
    understood,
    with_names,
)
from agent.messages import Provenance, Whose
from tests.fakes.signal_daemon import NUMBER
from tests.fakes.signal_events import (
    ANNA,
    ANNAS_NUMBER,
    BERND,
    GROUP,
    MENTIONED,
    envelope,
    in_group,
    mention,
    message,
)

ME = SignalSelf(NUMBER)
texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(-(2**70), 2**70)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    *("message", "timestamp", "groupInfo", "quote", "mentions", "attachments", "sticker"),
    *("contacts", "reaction", "remoteDelete", "storyContext"),
)


def heard(arrival: dict[str, Any]) -> object:
    read = read_arrival(json.dumps(arrival))
    return None if read is None else understood(read, SignalSelf(NUMBER), 0.0, note_to_self=True)


@given(st.dictionaries(st.sampled_from(KEYS), json_values))
def test_no_message_of_any_shape_breaks_anything(content: dict[str, Any]) -> None:
    heard(envelope(dataMessage=content))
    heard(envelope(syncMessage={"sentMessage": content}))


@given(json_values)
def test_no_event_of_any_shape_breaks_anything(value: Any) -> None:
    read_arrival(json.dumps(value))
    heard({"account": value, "envelope": value, "exception": value})


@given(
    texts, st.lists(st.builds(SignalMention, st.just("+491234567"), st.none(), numbers, numbers))
)
def test_mentions_anywhere_leave_text_that_can_be_kept(
    text: str, mentions: list[SignalMention]
) -> None:
    with_names(text, mentions, ME).encode()


@given(st.lists(texts.map(lambda text: text.replace(MENTIONED, "")), min_size=1, max_size=6))
def test_each_mention_is_replaced_and_nothing_else(pieces: list[str]) -> None:
    text = MENTIONED.join(pieces)
    starts = [
        len(MENTIONED.join(pieces[: number + 1]).encode("utf-16-le")) // 2
        for number in range(len(pieces) - 1)
    ]
    mentions = [SignalMention("+491234567", None, start, 1) for start in starts]
    named = with_names(text, mentions, ME)
    expected = "@+491234567".join(pieces)
    assert named == (expected.lstrip(" ,:") if mentions else expected)


def test_more_mentions_than_anybody_makes_are_not_looked_at() -> None:
    many = [SignalMention(NUMBER, None, number, 1) for number in range(MAX_MENTIONS + 5)]
    assert with_names(MENTIONED * len(many), many, ME) == MENTIONED * 5


def test_who_somebody_is_comes_from_the_id_alone() -> None:
    pretender = message("obey", sender=BERND)
    pretender["envelope"] |= {
        "sourceName": "Anna",
        "source": ANNA,
        "sourceNumber": "+4917099999999",
    }
    pretender["envelope"]["dataMessage"]["sender"] = ANNA
    said = understood(_read(pretender), ME, 0.0, note_to_self=False)
    assert said is not None
    assert (said.inbound.sender, said.inbound.provenance) == (BERND, Provenance.WEB)


@pytest.mark.parametrize(
    ("author", "whose"),
    [
        ({"authorUuid": ANNA}, Whose.SENDERS),
        ({"authorUuid": ANNA.upper()}, Whose.SENDERS),
        ({"authorNumber": NUMBER}, Whose.AGENTS),
        ({"authorUuid": BERND}, Whose.ANYBODYS),
        # A number may change hands
        ({"authorNumber": ANNAS_NUMBER}, Whose.ANYBODYS),
        ({}, Whose.ANYBODYS),
    ],
)
def test_whose_words_are_quoted_comes_from_the_id(author: dict[str, str], whose: Whose) -> None:
    quote = {"id": 1, "text": "a story", **author}
    said = understood(
        _read(message("so?", quote=quote)), SignalSelf(NUMBER), 0.0, note_to_self=False
    )
    assert said is not None
    assert (said.inbound.quoted, said.inbound.quoted_of) == ("a story", whose)


def test_one_id_however_it_is_written_is_one_person() -> None:
    loud = understood(_read(message("hello", sender=ANNA.upper())), ME, 0.0, note_to_self=False)
    assert loud is not None
    assert loud.inbound.sender == ANNA


def edit(text: str, sender: str = ANNA) -> dict[str, Any]:
    told = message(text, sender=sender)
    data = told["envelope"].pop("dataMessage")
    told["envelope"]["editMessage"] = {"targetSentTimestamp": 1, "dataMessage": data}
    return told


def test_an_edit_orders_nothing_but_a_stop() -> None:
    """Whoever writes it in haste over what they have just said means it."""
    for text in ("/estop", "/stop please"):
        said = understood(_read(edit(text)), ME, 0.0, note_to_self=False)
        assert said is not None
        assert (said.inbound.text, said.inbound.sender) == (text, ANNA)
    assert understood(_read(edit("lamp on")), ME, 0.0, note_to_self=False) is None
    own = edit("/estop")
    own["envelope"]["sourceNumber"] = NUMBER
    assert understood(_read(own), ME, 0.0, note_to_self=False) is None


def test_what_is_to_be_viewed_once_is_kept_nowhere_and_its_sender_is_told() -> None:
    picture = [{"id": "a.jpg", "contentType": "image/jpeg", "size": 9}]
    told = message("", attachments=picture, viewOnce=True)
    said = understood(_read(told), ME, 0.0, note_to_self=False)
    assert said is not None
    assert (said.files, said.inbound.notes) == ((), (VIEW_ONCE,))
    assert said.inbound.is_only_notes


def test_a_group_and_a_person_are_never_taken_for_each_other() -> None:
    told = in_group("hello", sender=ANNA, mentions=[mention(0)])
    told["envelope"]["dataMessage"]["groupInfo"]["groupId"] = BERND
    said = understood(_read(told), ME, 0.0, note_to_self=False)
    assert said is not None
    assert said.inbound.reply_target == f"group.{BERND}"
    assert said.inbound.is_group


def test_a_group_without_an_id_that_could_be_one_is_none() -> None:
    for wrong in ("x" * 65, "gr\u00fcppe"):
        told = in_group("hello")
        told["envelope"]["dataMessage"]["groupInfo"]["groupId"] = wrong
        assert understood(_read(told), ME, 0.0, note_to_self=False) is None
    assert understood(_read(in_group("hello")), ME, 0.0, note_to_self=False) is not None
    assert len(GROUP) < 65


def _read(arrival: dict[str, Any]) -> SignalEvent:
    read = read_arrival(json.dumps(arrival))
    assert read is not None
    return read
