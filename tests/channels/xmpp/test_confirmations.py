import asyncio
from xml.etree.ElementTree import fromstring

import pytest

from agent.channels.xmpp.confirmations import UnconfirmedMessages, XmppRefused, refusal
from agent.errors import ChannelUnavailable

ROOM = "lab@rooms.example.org"
_STANZAS = "urn:ietf:params:xml:ns:xmpp-stanzas"


def message(sender: str, kind: str, inside: str = "") -> str:
    return (
        f"<message xmlns='jabber:client' from='{sender}' type='{kind}' id='m1'>{inside}</message>"
    )


def error(kind: str, condition: str, text: str = "") -> str:
    said = f"<text xmlns='{_STANZAS}'>{text}</text>" if text else ""
    return f"<error type='{kind}'><{condition} xmlns='{_STANZAS}'/>{said}</error>"


async def test_the_word_of_the_server_is_enough_in_private_and_not_in_rooms() -> None:
    said = UnconfirmedMessages()
    private = said.expect("m1", "anna@example.org", is_to_room=False)
    room = said.expect("m2", ROOM, is_to_room=True)
    said.acknowledged("m1")
    said.acknowledged("m2")
    said.acknowledged("of somebody else")
    assert (private.done(), room.done()) == (True, False)


async def test_a_room_confirms_by_showing_it() -> None:
    said = UnconfirmedMessages()
    confirmed = said.expect("m1", ROOM, is_to_room=True)
    assert not said.takes(fromstring(message("other@rooms.example.org/x", "groupchat")))
    assert not confirmed.done()
    # It is shown to us as it is to all
    assert not said.takes(fromstring(message(f"{ROOM}/barnacle", "groupchat")))
    assert confirmed.result() is None


async def test_only_who_it_was_for_refuses_it() -> None:
    said = UnconfirmedMessages()
    confirmed = said.expect("m1", "anna@example.org", is_to_room=False)
    no = error("cancel", "service-unavailable")
    assert not said.takes(fromstring(message("evil@example.org", "error", no)))
    assert said.takes(fromstring(message("anna@example.org/phone", "error", no)))
    assert not said.takes(fromstring(message("anna@example.org/phone", "error", no)))
    with pytest.raises(XmppRefused, match="service-unavailable"):
        await confirmed


async def test_what_was_forgotten_is_nobodys() -> None:
    said = UnconfirmedMessages()
    confirmed = said.expect("m1", "anna@example.org", is_to_room=False)
    said.forget("m1")
    said.acknowledged("m1")
    assert not said.takes(fromstring(message("anna@example.org", "error")))
    await asyncio.sleep(0)
    assert not confirmed.done()


def test_a_refusal_says_why() -> None:
    told = fromstring(message("x", "error", error("cancel", "not-allowed", "Go\n away")))
    found = refusal(told, "x")
    assert isinstance(found, XmppRefused)
    assert (str(found), found.condition) == ("x does not take it: Go  away", "not-allowed")


def test_what_passes_is_no_refusal() -> None:
    told = fromstring(message("x", "error", error("wait", "resource-constraint")))
    assert isinstance(refusal(told, "x"), ChannelUnavailable)


def test_an_error_that_says_nothing_is_one() -> None:
    assert "no reason is given" in str(refusal(fromstring(message("x", "error")), "x"))
