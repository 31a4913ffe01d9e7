"""Posts of WhatsApp, and their meaning.

One post may hold several messages of several people; one that cannot be read costs no other.
Reactions and notices of the platform are no messages; of an edit nothing comes but a stop.
"""

import hashlib
import hmac
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from agent.channels.push import PushAnswer
from agent.channels.urgency import is_urgent
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

HEADER = "x-hub-signature-256"
# As any 128 bits
_TOKEN_CHARS = 32
# A mode, a token and a challenge, and what may be added to them
_MAX_FIELDS = 10
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
# Digits so far; nothing that a browser would take for a page
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{1,256}")


def verify_token(app_secret: str) -> str:
    """Return the text to paste into the app's page, so that nobody has to invent one."""
    known = hmac.new(app_secret.encode(), b"barnacle verify token", hashlib.sha256)
    return known.hexdigest()[:_TOKEN_CHARS]


def refusal(headers: Mapping[str, str]) -> PushAnswer | None:
    """Return the refusal if no body can be right with these headers; else None."""
    if _SIGNATURE.fullmatch(headers.get(HEADER, "")):
        return None
    return PushAnswer(401, f"{HEADER} is missing or no signature")


def is_true(app_secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return true if the signature fits this body; the time taken reveals nothing."""
    right = hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
    told = headers.get(HEADER, "").removeprefix("sha256=")
    return hmac.compare_digest(right.encode(), told.encode())


def challenged(query: bytes, token: str) -> PushAnswer:
    """Return the challenge if the token is right; else a refusal."""
    try:
        told = parse_qs(query.decode("ascii"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        told = {}
    mode, given, challenge = (
        told.get(f"hub.{name}", [""])[0] for name in ("mode", "verify_token", "challenge")
    )
    is_right = hmac.compare_digest(given.encode(), token.encode())
    if mode != "subscribe" or not is_right or not _CHALLENGE.fullmatch(challenge):
        return PushAnswer(403, "the verify token is not ours; `barnacle channel test` says it")
    return PushAnswer(200, challenge)


_log = logging.getLogger(__name__)

T = TypeVar("T")

NAME = "whatsapp"
SHOWN = "[something that is shown, as it is quoted above]"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
MAX_NAME_CHARS = 128
# A post has been limited to 1 MB; more than this in one is no chat
MAX_MESSAGES = 200
_FIELD = "messages"
# What has a file, and what a person would call it
FILES = {
    "image": "a picture",
    "audio": "a sound",
    "video": "a video",
    "document": "a file",
    "sticker": "a sticker",
}
_SILENT = frozenset({"reaction", "system", "revoke", "ephemeral"})
# As it is called now, and was before
_CHANGED_NUMBER = frozenset({"user_changed_number", "customer_changed_number"})

# Numbers, or what stands for somebody who shows none
PersonId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.]{1,140}\Z")]
MessageId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._=+/:-]{1,256}\Z")]
MediaId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,128}\Z")]


class WhatsAppMedia(msgspec.Struct, frozen=True):
    """File, by its id."""

    id: MediaId
    mime_type: str = ""
    caption: str = ""
    filename: str = ""
    voice: bool = False


class _Text(msgspec.Struct, frozen=True):
    body: str = ""


class _Place(msgspec.Struct, frozen=True):
    latitude: float
    longitude: float
    name: str = ""
    address: str = ""


class _Reply(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""


class _Interactive(msgspec.Struct, frozen=True):
    button_reply: _Reply | None = None
    list_reply: _Reply | None = None


class _Name(msgspec.Struct, frozen=True):
    formatted_name: str = ""


class _Phone(msgspec.Struct, frozen=True):
    phone: str = ""


class _Card(msgspec.Struct, frozen=True):
    name: _Name = _Name()
    phones: tuple[_Phone, ...] = ()


class _Context(msgspec.Struct, frozen=True):
    forwarded: bool = False
    frequently_forwarded: bool = False


class _NewForm(msgspec.Struct, frozen=True):
    text: _Text = _Text()


class _Edit(msgspec.Struct, frozen=True):
    message: _NewForm = _NewForm()


class _Notice(msgspec.Struct, frozen=True):
    type: str = ""
    # The new number, where it may be known
    wa_id: str = ""


class WhatsAppMessage(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """Message; `from_user_id` is set if the sender hides the number."""

    id: MessageId
    type: str
    sender: PersonId | None = None
    from_user_id: PersonId | None = None
    group_id: str = ""
    timestamp: str = ""
    text: _Text = _Text()
    button: dict[str, object] = {}
    image: WhatsAppMedia | None = None
    audio: WhatsAppMedia | None = None
    video: WhatsAppMedia | None = None
    document: WhatsAppMedia | None = None
    sticker: WhatsAppMedia | None = None
    location: _Place | None = None
    contacts: tuple[_Card, ...] = ()
    interactive: _Interactive = _Interactive()
    context: _Context = _Context()
    system: _Notice = _Notice()
    edit: _Edit = _Edit()

    @property
    def left(self) -> str:
        """Return the number that its person has changed for another one; empty for all else."""
        is_notice = self.type == "system" and self.system.type in _CHANGED_NUMBER
        is_left = is_notice and self.sender and self.sender != self.system.wa_id
        return self.sender or "" if is_left else ""

    @property
    def person(self) -> str:
        return self.sender or self.from_user_id or ""

    @property
    def media(self) -> WhatsAppMedia | None:
        return self.image or self.audio or self.video or self.document or self.sticker

    @property
    def pressed(self) -> str:
        """Text of the pressed button; empty if none was pressed."""
        reply = self.interactive.button_reply
        return reply.id if reply is not None else ""


class WhatsAppFailure(msgspec.Struct, frozen=True):
    """Reason why a message of ours did not arrive."""

    code: int = 0
    title: str = ""


class WhatsAppStatus(msgspec.Struct, frozen=True):
    """Status of a message of ours."""

    status: str = ""
    recipient_id: str = ""
    timestamp: str = ""
    errors: tuple[WhatsAppFailure, ...] = ()


class _Profile(msgspec.Struct, frozen=True):
    name: str = ""


class _Contact(msgspec.Struct, frozen=True):
    profile: _Profile = _Profile()
    wa_id: str = ""
    user_id: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    phone_number_id: str = ""


class _Value(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    contacts: tuple[_Contact, ...] = ()
    messages: tuple[msgspec.Raw, ...] = ()
    statuses: tuple[msgspec.Raw, ...] = ()


class _Change(msgspec.Struct, frozen=True):
    field: str = ""
    value: msgspec.Raw = msgspec.Raw(b"{}")


class _Entry(msgspec.Struct, frozen=True):
    changes: tuple[_Change, ...] = ()


class _Post(msgspec.Struct, frozen=True):
    entry: tuple[_Entry, ...] = ()


class WhatsAppInbound(msgspec.Struct, frozen=True):
    """Message with its sender's own name for themselves."""

    message: WhatsAppMessage
    name: str


def read(body: bytes, number_id: str) -> Iterator[WhatsAppInbound | WhatsAppStatus]:
    """Yield the messages to this number, and the statuses of its own.

    Raises:
        ValueError: it is no post of the platform.
    """
    try:
        post = msgspec.json.decode(body, type=_Post)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise ValueError("the body is not a WhatsApp event") from err
    changes = [change for entry in post.entry for change in entry.changes]
    values = [_decoded(change.value, _Value) for change in changes if change.field == _FIELD]
    # A second number of the same business has an agent of its own, or none
    ours = [one for one in values if one and one.metadata.phone_number_id == number_id]
    return (said for value in ours for said in _of_value(value))


def _of_value(value: _Value) -> Iterator[WhatsAppInbound | WhatsAppStatus]:
    names = {
        known: one.profile.name for one in value.contacts for known in (one.wa_id, one.user_id)
    }
    for raw in value.messages[:MAX_MESSAGES]:
        message = _decoded(raw, WhatsAppMessage)
        if message is not None and message.person:
            yield WhatsAppInbound(
                message, printable_line(names.get(message.person, ""), MAX_NAME_CHARS)
            )
    for raw in value.statuses[:MAX_MESSAGES]:
        if (status := _decoded(raw, WhatsAppStatus)) is not None:
            yield status


def inbound_of(said: WhatsAppInbound, now_s: float) -> Inbound | None:
    """Convert the message; None if it is none."""
    message = said.message
    # The answer would go to one of them alone
    if message.type in _SILENT or message.group_id:
        return None
    if message.type == "edit":
        if not is_urgent(message.edit.message.text.body):
            return None
        # Nothing comes of an edit but a stop
        message = replace(message, type="text", text=message.edit.message.text)
    text, shown = _words(message), _shown(message)
    if not text and not shown and message.media is None:
        return None
    return Inbound(
        message_id=message.id,
        channel=NAME,
        sender=message.person,
        reply_target=message.person,
        text=text or (SHOWN if shown else ""),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        sender_name=said.name,
        sent_at_s=time_of(message.timestamp),
        is_forwarded=message.context.forwarded or message.context.frequently_forwarded,
        # Names that others gave themselves and places: no word of the sender's
        quoted=shown,
    )


def _words(message: WhatsAppMessage) -> str:
    if message.media is not None:
        return printable_text(message.media.caption, MAX_TEXT_CHARS).strip()
    if message.location is not None and not _is_named(message.location):
        # Numbers alone
        return _place_in_words(message.location)
    if _shown(message):
        return ""
    chosen = message.interactive.button_reply or message.interactive.list_reply
    told = message.button.get("text")
    text = message.text.body or (chosen.title if chosen else "")
    text = text or (told if isinstance(told, str) else "")
    text = printable_text(text, MAX_TEXT_CHARS).strip()
    return text or f"[{printable_line(message.type, 30)}: a message that nothing here can read]"


def _shown(message: WhatsAppMessage) -> str:
    """Return words for content that the sender shows of others."""
    if message.location is not None and _is_named(message.location):
        return _place_in_words(message.location)
    return "\n".join(_card_in_words(card) for card in message.contacts[:10])


def _is_named(place: _Place) -> bool:
    return bool(place.name or place.address)


def _place_in_words(place: _Place) -> str:
    named = printable_line(", ".join(filter(None, (place.name, place.address))), 300)
    return f"[a place: {place.latitude:.6f}, {place.longitude:.6f}{f' ({named})' if named else ''}]"


def _card_in_words(card: _Card) -> str:
    told = ", ".join([card.name.formatted_name, *(one.phone for one in card.phones[:5])])
    return f"[a contact: {printable_line(told, 200)}]"


def time_of(told: str) -> float | None:
    """Return the platform's time of an event; None if it has none."""
    is_number = told.isascii() and told.isdigit() and len(told) < 12  # noqa: PLR2004 - no huge ints
    return float(told) if is_number else None


def _decoded(raw: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        _log.warning(
            "whatsapp: part of a post skipped, not readable (reason=%s)",
            printable_line(str(err), 200),
        )
        return None
