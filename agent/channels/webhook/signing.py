"""Signatures over the raw bytes of a message, as the Standard Webhooks specification has them.

HMAC-SHA256 over id, time and body, in Base64. A signature is compared as bytes, whatever alphabet
it was written in; what is signed includes the id, so that nobody can give a message a new one.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.errors import ConfigRefused

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


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of a message's headers; true if a signature fits the body."""

    message_id: str
    time: str
    signatures: tuple[bytes, ...]


def key_of(secret: str) -> bytes:
    """The bytes to sign with.

    Raises:
        ConfigRefused: it is no secret of that kind, or too short to be one.
    """
    key = _decoded(secret.removeprefix(_PREFIX))
    if not secret.startswith(_PREFIX) or key is None or len(key) < MIN_SECRET_BYTES:
        raise ConfigRefused(
            "channels.webhook.secret must be whsec_ and the Base64 of 24 random bytes or more: "
            'make one by `echo "whsec_$(openssl rand -base64 32)"`'
        )
    return key


def claim_of(headers: Mapping[str, str], now_s: float) -> Claim | str:
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
    return Claim(message_id, time, tuple(whole))


def is_true(key: bytes, claim: Claim, body: bytes) -> bool:
    """Return true if one signature fits this body; the time taken reveals nothing."""
    right = _digest(key, claim.message_id, claim.time, body)
    # All of them, whichever fits
    return any([hmac.compare_digest(right, one) for one in claim.signatures])  # noqa: C419


def signed(key: bytes, message_id: str, now_s: float, body: bytes) -> dict[str, str]:
    """The headers of a message of ours."""
    time = str(int(now_s))
    digest = base64.b64encode(_digest(key, message_id, time, body)).decode()
    return {ID: message_id, TIME: time, SIGNATURE: f"{_VERSION}{digest}"}


def _digest(key: bytes, message_id: str, time: str, body: bytes) -> bytes:
    return hmac.new(key, f"{message_id}.{time}.".encode() + body, hashlib.sha256).digest()


def _decoded(text: str) -> bytes | None:
    """Base64 in either alphabet, with its padding or without."""
    plain = text.translate(_URL_ALPHABET).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
