"""Signatures of Slack's posts, and their age.

HMAC-SHA256 over the time and the bytes of the body as they came, before anything reads them.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping

from agent.channels.pushed import Answered

SIGNATURE, TIME = "x-slack-signature", "x-slack-request-timestamp"
# As Slack advises: what was overheard is good for no longer
REPLAY_WINDOW_S = 300
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{1,12}")


def refusal(headers: Mapping[str, str], now_s: float) -> Answered | None:
    """Return the refusal if no body can be right with these headers; else None."""
    time = headers.get(TIME, "")
    if not _SECONDS.fullmatch(time) or abs(now_s - int(time)) > REPLAY_WINDOW_S:
        return Answered(401, f"{TIME} is missing, or not within {REPLAY_WINDOW_S} s of now")
    if not _SIGNATURE.fullmatch(headers.get(SIGNATURE, "")):
        return Answered(401, f"{SIGNATURE} is missing or no signature")
    return None


def is_true(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return true if the signature fits this body; the time taken reveals nothing."""
    right = signature(secret, headers.get(TIME, ""), body)
    return hmac.compare_digest(right.encode(), headers.get(SIGNATURE, "").encode())


def signature(secret: str, time: str, body: bytes) -> str:
    return (
        f"v0={hmac.new(secret.encode(), f'v0:{time}:'.encode() + body, hashlib.sha256).hexdigest()}"
    )
