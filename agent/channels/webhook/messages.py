"""Bodies of the webhook's messages, in and out."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agent.errors import ConfigRefused
from agent.messages import Inbound, Outbound, Provenance
from agent.text.printable import printable_line

ID, TIME, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
# Clocks of two machines differ; a message that was overheard is good for no longer
REPLAY_WINDOW_S = 300
# What the specification lets a secret have at least
MIN_SECRET_BYTES = 24
# Signatures of one message: the old and the new secret while they are exchanged, and some more
MAX_SIGNATURES = 8
_PREFIX = "whsec_"
_VERSION = "v1,"
_ID = re.compile(r"[A-Za-z0-9_.:=+/@-]{1,128}")
_SECONDS = re.compile(r"[0-9]{1,12}")
_URL_ALPHABET = str.maketrans("-_", "+/")


class SignatureClaim(Struct, frozen=True):
    """Claim of a message's headers; true if a signature fits the body."""

    message_id: str
    time: str
    signatures: tuple[bytes, ...]


def key_of(secret: str) -> bytes:
    """Return the bytes of the key.

    Raises:
        ConfigRefused: it is no secret of that kind, or too short to be one.
    """
    key = _decoded(secret.removeprefix(_PREFIX))
    if not secret.startswith(_PREFIX) or key is None or len(key) < MIN_SECRET_BYTES:
        raise ConfigRefused(
            "invalid channels.webhook.secret: expected whsec_ and the Base64 of at least 24 "
            'random bytes; make one with `echo "whsec_$(openssl rand -base64 32)"`'
        )
    return key


def claim_of(headers: Mapping[str, str], now_s: float) -> SignatureClaim | str:
    """Return the claim of the headers, or why they can hold none."""
    message_id, time = headers.get(ID, ""), headers.get(TIME, "")
    if not _ID.fullmatch(message_id):
        return f"{ID} is missing or no id"
    if not _SECONDS.fullmatch(time) or abs(now_s - int(time)) > REPLAY_WINDOW_S:
        return f"{TIME} is missing, or not within {REPLAY_WINDOW_S} s of now"
    told = headers.get(SIGNATURE, "").split(" ")[:MAX_SIGNATURES]
    read = [_decoded(one.removeprefix(_VERSION)) for one in told if one.startswith(_VERSION)]
    whole = [one for one in read if one is not None and len(one) == hashlib.sha256().digest_size]
    if not whole:
        return f"{SIGNATURE} is missing or no signature"
    return SignatureClaim(message_id, time, tuple(whole))


def is_true(key: bytes, claim: SignatureClaim, body: bytes) -> bool:
    """Return true if one signature fits this body; the time taken reveals nothing."""
    right = _digest(key, claim.message_id, claim.time, body)
    # All of them, whichever fits
    return any([hmac.compare_digest(right, one) for one in claim.signatures])  # noqa: C419


def signed(key: bytes, message_id: str, now_s: float, body: bytes) -> dict[str, str]:
    """Return the headers of an outgoing message."""
    time = str(int(now_s))
    digest = base64.b64encode(_digest(key, message_id, time, body)).decode()
    return {ID: message_id, TIME: time, SIGNATURE: f"{_VERSION}{digest}"}


def _digest(key: bytes, message_id: str, time: str, body: bytes) -> bytes:
    return hmac.new(key, f"{message_id}.{time}.".encode() + body, hashlib.sha256).digest()


def _decoded(text: str) -> bytes | None:
    """Decode Base64 in either alphabet, with or without padding."""
    plain = text.translate(_URL_ALPHABET).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


NAME = "webhook"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
# Names of people, groups and threads
MAX_NAME_CHARS = 128

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
Name = Annotated[str, Meta(pattern=rf"^[^\x00-\x20\x7f]{{1,{MAX_NAME_CHARS}}}\Z")]


class WebhookInbound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message of a program.

    Args:
        sender: its own stable name of whoever speaks; who that is to us, the door decides.
        group: where others read the answer; without it the sender alone does.
    """

    sender: Name
    text: Text
    sender_name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    group: Name | None = None
    thread: Name | None = None


class WebhookOutbound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Message to a program; `to` is a sender or a group.

    Args:
        answers: the id of the message that this is the answer to.
    """

    to: str
    text: str
    thread: str | None = None
    answers: str = ""
    part: int = 0


def read(body: bytes) -> WebhookInbound:
    """Return the message in the body.

    Raises:
        ValueError: it is none; the text says why and repeats nothing of it.
    """
    try:
        return msgspec.json.decode(body, type=WebhookInbound)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise ValueError(f"invalid message body: {printable_line(str(err), 200)}") from err


def inbound_of(letter: WebhookInbound, message_id: str, now_s: float) -> Inbound:
    return Inbound(
        message_id=message_id,
        channel=NAME,
        sender=letter.sender,
        reply_target=letter.group or letter.sender,
        text=letter.text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=letter.thread,
        is_group=letter.group is not None,
        sender_name=printable_line(letter.sender_name, MAX_NAME_CHARS),
    )


def told_by(message: Outbound) -> bytes:
    return msgspec.json.encode(
        WebhookOutbound(
            to=message.recipient,
            text=message.text,
            thread=message.thread,
            answers=message.in_reply_to,
            part=message.part,
        )
    )
