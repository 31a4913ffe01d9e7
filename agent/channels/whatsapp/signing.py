"""Signatures of posts, and the check of a new address: both use the app's secret."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from agent.channels.pushed import Answered

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


def refusal(headers: Mapping[str, str]) -> Answered | None:
    """Return the refusal if no body can be right with these headers; else None."""
    if _SIGNATURE.fullmatch(headers.get(HEADER, "")):
        return None
    return Answered(401, f"{HEADER} is missing or no signature")


def is_true(app_secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return true if the signature fits this body; the time taken reveals nothing."""
    right = hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
    told = headers.get(HEADER, "").removeprefix("sha256=")
    return hmac.compare_digest(right.encode(), told.encode())


def challenged(query: bytes, token: str) -> Answered:
    """The challenge itself for who knows the token, and nothing for anybody else."""
    try:
        told = parse_qs(query.decode("ascii"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        told = {}
    mode, given, challenge = (
        told.get(f"hub.{name}", [""])[0] for name in ("mode", "verify_token", "challenge")
    )
    is_right = hmac.compare_digest(given.encode(), token.encode())
    if mode != "subscribe" or not is_right or not _CHALLENGE.fullmatch(challenge):
        return Answered(403, "the verify token is not ours; `barnacle channel test` says it")
    return Answered(200, challenge)
