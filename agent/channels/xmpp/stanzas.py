"""Stanzas of an XMPP stream as elements; incoming ones are hostile."""

import calendar
import re
import time
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from msgspec import Struct

CLIENT = "jabber:client"
ARCHIVE = "urn:xmpp:mam:2"
CORRECTION = "urn:xmpp:message-correct:0"
DELAY = "urn:xmpp:delay"
FALLBACK = "urn:xmpp:fallback:0"
FORM = "jabber:x:data"
HINTS = "urn:xmpp:hints"
OCCUPANT = "urn:xmpp:occupant-id:0"
OMEMO = "eu.siacs.conversations.axolotl"
OOB = "jabber:x:oob"
REACTIONS = "urn:xmpp:reactions:0"
RECEIPTS = "urn:xmpp:receipts"
REPLY = "urn:xmpp:reply:0"
ROOM = "http://jabber.org/protocol/muc"
ROOM_USER = f"{ROOM}#user"
ROOM_OWNER = f"{ROOM}#owner"
SET = "http://jabber.org/protocol/rsm"
STABLE_ID = "urn:xmpp:sid:0"
STATES = "http://jabber.org/protocol/chatstates"
STYLING = "urn:xmpp:styling:0"

# Ids of servers and programs are some dozens of characters
MAX_ID_CHARS = 200
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))"
)
# What XML 1.0 has no way to write: a server ends the stream over it
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmppMessage(Struct, frozen=True):
    """Message as the sender's server passed it on.

    Args:
        sender: an address with its resource, which in a room is a nick.
        known: the sender's own id of it; empty where it has none that can be used.
        archived: the id under which our archive, or the room's, has it.
        sent_at_s: where it was delayed.
        answers: the address that wrote what it answers to, and the words that it repeats of that.
    """

    sender: str
    kind: str
    known: str
    archived: str
    text: str
    sent_at_s: float | None
    file: str
    wants_receipt: bool
    is_correction: bool
    is_encrypted: bool
    # Of somebody in a room, to one person in it
    is_aside: bool
    occupant: str
    # Of who wrote it in a room, as the room's archive has it
    address: str
    answers: str
    quoted: str

    @property
    def bare(self) -> str:
        return bare(self.sender)

    @property
    def nick(self) -> str:
        return self.sender.partition("/")[2]


def read_message(told: Element, archive: str, archived: str = "", stamp: str = "") -> XmppMessage:
    """Return the content of a message.

    Args:
        archive: whose ids count; those that anybody else has put there do not.
        archived, stamp: what the archive says of it, where it comes from there.
    """
    answered, words, quoted = _without_quote(told)
    ids = told.findall(f"{{{STABLE_ID}}}stanza-id")
    own = next((one.get("id", "") for one in ids if one.get("by") == archive), "")
    occupant = told.find(f"{{{OCCUPANT}}}occupant-id")
    return XmppMessage(
        sender=told.get("from", ""),
        kind=told.get("type", "normal"),
        known=usable(told.get("id", "")),
        archived=usable(archived or own),
        text=words,
        # What an archive has is nothing of now, whatever it does not say
        sent_at_s=_sent_at_s(told, stamp) or (0.0 if archived else None),
        file=text_of(told, f"{{{OOB}}}x/{{{OOB}}}url"),
        wants_receipt=told.find(f"{{{RECEIPTS}}}request") is not None,
        is_correction=told.find(f"{{{CORRECTION}}}replace") is not None,
        is_encrypted=told.find(f"{{{OMEMO}}}encrypted") is not None,
        is_aside=told.find(f"{{{ROOM_USER}}}x") is not None,
        occupant="" if occupant is None else usable(occupant.get("id", "")),
        address=_address(told) if archived else "",
        answers=answered,
        quoted=quoted,
    )


def _sent_at_s(told: Element, stamp: str) -> float | None:
    delay = told.find(f"{{{DELAY}}}delay")
    return seconds(stamp or ("" if delay is None else delay.get("stamp", "")))


def bare(address: str) -> str:
    return address.partition("/")[0]


def host_of(address: str) -> str:
    return bare(address).rpartition("@")[2]


def usable(known: str) -> str:
    """Return the id; empty if it is too long or has spaces."""
    return known if len(known) <= MAX_ID_CHARS and not any(map(str.isspace, known)) else ""


def text_of(told: Element, path: str) -> str:
    """Return the text of an element; empty if there is none."""
    found = told.find(path)
    return "" if found is None else found.text or ""


def seconds(stamp: str) -> float | None:
    """Return the time of a stamp after XEP-0082; None if it is invalid."""
    found = _STAMP.fullmatch(stamp)
    if found is None:
        return None
    try:
        whole = time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    ahead_s = 60 * (60 * int(found[9] or 0) + int(found[10] or 0))
    utc_s = calendar.timegm(whole) - (-ahead_s if found[8] == "-" else ahead_s)
    return utc_s + float(found[7] or 0)


def stamped(at_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


def element(space: str, name: str, text: str = "", **attributes: str) -> Element:
    made = Element(f"{{{space}}}{name}", {key: writable(one) for key, one in attributes.items()})
    if text:
        made.text = writable(text)
    return made


def within(parent: Element, children: Sequence[Element]) -> Element:
    parent.extend(children)
    return parent


def writable(text: str) -> str:
    """Return the text without characters that XML cannot hold."""
    return _UNWRITABLE.sub("", text)


def form(kind: str, **values: str) -> Element:
    """Return a filled-in form after XEP-0004."""
    made = element(FORM, "x", type="submit")
    for name, value in {"FORM_TYPE": kind, **values}.items():
        field = SubElement(made, f"{{{FORM}}}field", {"var": name})
        field.append(element(FORM, "value", value))
    return made


def _without_quote(told: Element) -> tuple[str, str, str]:
    """Return the answered id, the words, and the quote that older programs show."""
    body = text_of(told, f"{{{CLIENT}}}body")
    reply = told.find(f"{{{REPLY}}}reply")
    answered = "" if reply is None else reply.get("to", "")
    for fallback in told.findall(f"{{{FALLBACK}}}fallback"):
        place = fallback.find(f"{{{FALLBACK}}}body")
        if len(fallback) == 0:
            # A sign, or a wish to have something unsaid, told in words
            return answered, "", ""
        if fallback.get("for") == REPLY and place is not None:
            start, end = (_number(place.get(name, "")) for name in ("start", "end"))
            quoted = re.sub("^> ?", "", body[start:end], flags=re.MULTILINE)
            return answered, body[:start] + body[max(start, end) :], quoted.strip()
    return answered, body, ""


def _address(told: Element) -> str:
    item = told.find(f"{{{ROOM_USER}}}x/{{{ROOM_USER}}}item")
    return "" if item is None else bare(item.get("jid", ""))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < MAX_ID_CHARS else 0
