from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.xmpp.inbound import (
    XmppContext,
    about,
    id_of,
    is_for_us,
    is_new,
    understood,
)
from agent.channels.xmpp.stanzas import CLIENT, XmppMessage, element, read_message
from agent.messages import Provenance, Whose

OURS = "barnacle@example.org"
ROOM = "lab@rooms.example.org"


def message(inside: str, sender: str = "anna@example.org/phone", kind: str = "chat") -> XmppMessage:
    told = f"<message xmlns='{CLIENT}' from='{sender}' type='{kind}' id='m1'>{inside}</message>"
    return read_message(fromstring(told), ROOM if kind == "groupchat" else OURS)


def in_room(text: str, more: str = "") -> XmppMessage:
    return message(f"<body>{text}</body>{more}", f"{ROOM}/anna", "groupchat")


def test_a_private_message_is_that_of_its_address() -> None:
    found = understood(message("<body>hello</body>"), XmppContext("anna@example.org", ""), 1.0)
    assert (found.sender, found.reply_target) == ("anna@example.org", "anna@example.org")
    assert (found.text, found.sender_name, found.is_group) == ("hello", "anna", False)
    assert found.provenance is Provenance.WEB


def test_what_somebody_answers_to_is_nobodys_word() -> None:
    quoting = (
        "<body>&gt; turn it on\nyes</body><reply xmlns='urn:xmpp:reply:0' to='x@y' id='1'/>"
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'>"
        "<body start='0' end='13'/></fallback>"
    )
    found = understood(message(quoting), XmppContext("anna@example.org", ""), 1.0)
    assert (found.text, found.quoted, found.quoted_of) == ("yes", "turn it on", Whose.ANYBODYS)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("barnacle: is it warm?", True),
        ("is it warm, @Barnacle?", True),
        ("barnacles are warm", False),
        ("/stop", True),
        ("/stop it", False),
        ("hello", False),
    ],
)
def test_in_a_room_it_hears_who_calls_it(text: str, *, heard: bool) -> None:
    assert is_for_us(in_room(text), "barnacle") is heard


def test_an_answer_to_its_words_calls_it() -> None:
    answer = f"<reply xmlns='urn:xmpp:reply:0' to='{ROOM}/barnacle' id='1'/>"
    assert is_for_us(in_room("and now?", answer), "barnacle")


def test_its_name_is_taken_off() -> None:
    found = understood(in_room("Barnacle, is it warm?"), XmppContext("p", "barnacle"), 1.0)
    assert (found.text, found.reply_target, found.is_group) == ("is it warm?", ROOM, True)


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<body> </body>",
        "<body>new</body><replace xmlns='urn:xmpp:message-correct:0' id='m0'/>",
        "<composing xmlns='http://jabber.org/protocol/chatstates'/>",
        "<body>psst</body><x xmlns='http://jabber.org/protocol/muc#user'/>",
    ],
)
def test_what_says_nothing_new_is_no_message(inside: str) -> None:
    assert not is_new(message(inside))


def test_what_is_corrected_into_a_stop_is_one() -> None:
    assert is_new(
        message("<body>/stop</body><replace xmlns='urn:xmpp:message-correct:0' id='m0'/>")
    )


@pytest.mark.parametrize("kind", ["error", "headline", "nonsense"])
def test_what_is_no_talk_is_no_message(kind: str) -> None:
    assert not is_new(message("<body>hello</body>", kind=kind))


def test_the_link_of_a_file_is_not_said() -> None:
    link = "https://files.example.org/a.pdf"
    inside = f"<body>{link}</body><x xmlns='jabber:x:oob'><url>{link}</url></x>"
    assert understood(message(inside), XmppContext("a", ""), 1.0).text == ""


def test_ids_hold_what_signs_are_about() -> None:
    kept = "<body>x</body><stanza-id xmlns='urn:xmpp:sid:0' by='barnacle@example.org' id='a1'/>"
    assert id_of(message(kept)) == "a1 m1"
    assert about("a1 m1", in_group=False) == "m1"
    assert about("a1 m1", in_group=True) == "a1"


def test_without_an_archive_the_words_tell_messages_apart() -> None:
    """Simple programs count from one again after each start."""
    first, second = message("<body>on</body>"), message("<body>off</body>")
    assert id_of(first) != id_of(second)
    assert id_of(first) == id_of(message("<body>on</body>"))
    assert about(id_of(first), in_group=True) == ""


@given(
    st.text(),
    st.text(),
    st.sampled_from(["chat", "normal", "groupchat", "error", ""]),
    st.text(min_size=1),
    st.text(max_size=5),
)
def test_whatever_is_said_is_understood(
    words: str, sender: str, kind: str, nick: str, archived: str
) -> None:
    told = element(CLIENT, "message", type=kind)
    told.set("from", sender)
    told.append(element(CLIENT, "body", words))
    read = read_message(told, OURS, archived)
    is_for_us(read, nick)
    found = understood(read, XmppContext(sender, nick), 1.0)
    assert is_new(read) or kind == "error" or not read.text.strip() or not kind
    assert "\x00" not in found.text
    assert " " in found.message_id
