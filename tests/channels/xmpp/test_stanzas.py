from xml.etree.ElementTree import Element, fromstring, tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.xmpp.stanzas import (
    CLIENT,
    XmppMessage,
    element,
    read_message,
    seconds,
    stamped,
    usable,
    writable,
)

OURS = "barnacle@example.org"
_REPLYING = "xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'"
_FRAGMENTS = (
    "<body>hello</body>",
    "<body/>",
    "<stanza-id xmlns='urn:xmpp:sid:0' by='barnacle@example.org' id='a1'/>",
    "<stanza-id xmlns='urn:xmpp:sid:0'/>",
    "<delay xmlns='urn:xmpp:delay' stamp='yesterday'/>",
    "<x xmlns='jabber:x:oob'/>",
    "<x xmlns='http://jabber.org/protocol/muc#user'><item/></x>",
    "<reply xmlns='urn:xmpp:reply:0'/>",
    f"<fallback {_REPLYING}><body start='9' end='2'/></fallback>",
    f"<fallback {_REPLYING}><body start='²'/></fallback>",
    "<occupant-id xmlns='urn:xmpp:occupant-id:0'/>",
)


def told(inside: str, attributes: str = "from='anna@example.org/phone' type='chat'") -> Element:
    return fromstring(f"<message xmlns='{CLIENT}' {attributes}>{inside}</message>")


def read(inside: str) -> XmppMessage:
    return read_message(told(inside), OURS)


def test_a_message_is_read() -> None:
    found = read("<body>hello</body><request xmlns='urn:xmpp:receipts'/>")
    assert (found.bare, found.nick, found.kind) == ("anna@example.org", "phone", "chat")
    assert found.text == "hello"
    assert found.wants_receipt
    assert (found.is_correction, found.is_encrypted, found.is_aside) == (False,) * 3


def test_only_our_archive_names_messages() -> None:
    mine = "<stanza-id xmlns='urn:xmpp:sid:0' by='barnacle@example.org' id='real'/>"
    other = "<stanza-id xmlns='urn:xmpp:sid:0' by='evil@example.org' id='made-up'/>"
    assert read(other + mine).archived == "real"
    assert read(other).archived == ""


def test_what_is_answered_to_is_taken_out_of_the_words() -> None:
    found = read(
        "<body>&gt; is it warm?\nand now?</body><reply xmlns='urn:xmpp:reply:0' id='1' to='x@y/z'/>"
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'>"
        "<body start='0' end='14'/></fallback>"
    )
    assert (found.answers, found.text, found.quoted) == ("x@y/z", "and now?", "is it warm?")


def test_a_sign_that_is_told_in_words_too_is_no_word() -> None:
    inside = "<body>👍</body><fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reactions:0'/>"
    assert read(inside).text == ""


def test_a_room_says_who_wrote_only_in_its_archive() -> None:
    inside = (
        "<body>hi</body><x xmlns='http://jabber.org/protocol/muc#user'>"
        "<item jid='owner@example.org/phone'/></x>"
    )
    assert read(inside).address == ""
    assert read_message(told(inside), OURS, "a1").address == "owner@example.org"


@given(st.lists(st.sampled_from(_FRAGMENTS)), st.text(), st.text())
def test_whatever_comes_is_read(inside: list[str], archived: str, stamp: str) -> None:
    found = read_message(told("".join(inside), ""), OURS, archived, stamp)
    assert not any(map(str.isspace, found.archived + found.known + found.occupant))


@given(st.text())
def test_whatever_is_written_can_be_read_again(text: str) -> None:
    made = element(CLIENT, "body", text, id=text)
    again = fromstring(tostring(made))
    assert (again.text or "") == writable(text).replace("\r\n", "\n").replace("\r", "\n")


@given(st.integers(0, 2**33))
def test_a_time_is_what_it_was(at_s: int) -> None:
    assert seconds(stamped(at_s)) == at_s


@given(st.text())
def test_a_time_that_is_none_is_none(stamp: str) -> None:
    assert seconds(stamp) is None or stamp.endswith("Z") or stamp[-3] == ":"


def test_a_day_that_there_is_not_is_no_time() -> None:
    assert seconds("2026-02-31T00:00:00Z") is None
    assert seconds("2026-11-21T08:20:44.5Z") == 1795249244.5


@pytest.mark.parametrize("stamp", ["09:20:44+01:00", "02:50:44.0-05:30", "08:20:44+00:00"])
def test_a_time_may_be_one_of_another_zone(stamp: str) -> None:
    """XEP-0082 has it so, and what has no time is of now."""
    assert seconds(f"2026-11-21T{stamp}") == 1795249244


@pytest.mark.parametrize("stamp", ["", "yesterday", "2026-11-21T08:20:44"])
def test_what_an_archive_has_without_a_time_is_old(stamp: str) -> None:
    told = fromstring("<message xmlns='jabber:client' type='chat'><body>on</body></message>")
    assert read_message(told, OURS, "a1", stamp).sent_at_s == 0.0
    assert read_message(told, OURS).sent_at_s is None


def test_ids_with_spaces_or_of_any_length_are_none() -> None:
    assert usable("a b") == usable("x" * 500) == ""
    assert usable("x" * 200) == "x" * 200
