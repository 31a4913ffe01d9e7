"""What every request has to keep to before anybody looks at what it wants.

No page of a browser has business here, and no proxy that nobody named: what they would send is
refused whatever it holds. A name that the gateway is not called by is an attack (DNS rebinding).
"""

import re
from collections import Counter
from dataclasses import dataclass

from agent.gateway.callers import Headers

# What any platform sends, and no more than is held in memory anyway
MAX_BODY_BYTES = 1024 * 1024
_ONCE = (b"host", b"content-length", b"authorization", b"transfer-encoding", b"content-type")
_PORT = re.compile(r":[0-9]{1,5}\Z")
_DIGITS = re.compile(rb"[0-9]{1,18}")
# Browsers say it of requests that a page has made
_BY_BROWSERS = (b"origin", b"sec-fetch-site", b"sec-websocket-key")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request is refused; the sentence repeats nothing of it."""

    status: int
    text: str


def fault_of(headers: Headers, query: bytes, hosts: frozenset[str]) -> Fault | None:
    """What is wrong with how a request comes; None where nothing is."""
    count = Counter(name for name, _ in headers)
    if any(count[name] > 1 for name in _ONCE):
        return Fault(400, "a header comes twice")
    if query:
        return Fault(400, "nothing is asked in the URL here, and no token belongs there")
    by_name = dict(headers)
    host = by_name.get(b"host", b"").decode("latin-1").lower()
    if _PORT.sub("", host) not in hosts:
        return Fault(421, "this is not called so; gateway.hosts says how it is called")
    if any(name in by_name for name in _BY_BROWSERS):
        return Fault(403, "no page of a browser may ask here")
    return _size_fault(by_name)


def _size_fault(by_name: dict[bytes, bytes]) -> Fault | None:
    length = by_name.get(b"content-length")
    if length is None:
        return None
    if b"transfer-encoding" in by_name or not _DIGITS.fullmatch(length):
        return Fault(400, "how long the body is cannot be told")
    return Fault(413, "the body is too long") if int(length) > MAX_BODY_BYTES else None
