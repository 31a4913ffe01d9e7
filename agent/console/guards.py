"""Guards before every page: the host that is called, the origin that calls, the size, the pace.

Pure rules over headers and times; whoever asks decides what becomes of a fault.
"""

import ipaddress
import re
from collections import OrderedDict
from collections.abc import Collection, Sequence

from msgspec import Struct, field

Headers = Sequence[tuple[bytes, bytes]]

SESSION_COOKIE = "barnacle_session"
DOOR_COOKIE = "barnacle_door"
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
# A long message, percent-encoded in three bytes a character
MAX_BODY_BYTES = 256 * 1024
# Names of sensors, each with a tick: two hundred of them
MAX_QUERY_BYTES = 8 * 1024
MAX_PATH_BYTES = 200
# The one address that takes a file as it is, with the form's token in a header that another site's
# page cannot set
FILE_PATH, MAX_FILE_BYTES = b"/file", 20 * 1024 * 1024
_FILE = b"application/octet-stream"
# A browser sends some twenty headers of two kilobytes together
MAX_HEADERS = 64
MAX_HEADERS_BYTES = 16 * 1024
# Methods that change nothing
_SAFE = frozenset({"GET", "HEAD"})
_FORM = b"application/x-www-form-urlencoded"
_LOCAL = ".local"
# systemd-resolved's `barnacle11.local`, and avahi's `barnacle-2.local`
_NUMBER = re.compile(r"(?<=[a-z0-9])-?(?<![0-9])[0-9]{1,4}\.local\Z")
_PORT = re.compile(r"^(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]@/\s]+)(?::(?P<port>[0-9]{1,5}))?\Z")
# A page and its parts at once, then a person's pace; a tab that is open asks nothing by itself
BURST = 60.0
PER_S = 10.0
# Addresses that are told apart; the one that came longest ago goes
MAX_CALLERS = 500


class Fault(Struct, frozen=True):
    """A request that goes no further."""

    status: int
    text: str


class RequestHead(Struct, frozen=True):
    """A request as far as the guards see it."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Headers

    def every(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]

    def one(self, name: bytes) -> str | None:
        """Return the value of a header; None where it is missing or there twice."""
        found = self.every(name)
        return found[0].decode("latin-1") if len(found) == 1 else None


def fault_of(head: RequestHead, hosts: Collection[str]) -> Fault | None:
    """Return why the request goes no further; None if it may.

    Args:
        hosts: names by which this console may be called, in lower case.
    """
    if fault := _form_fault(head):
        return fault
    host = head.one(b"host")
    if host is None or not is_own_host(host, hosts):
        return Fault(421, "this console is not called so: see hosts in [console]")
    if not _is_own_fetch(head):
        return Fault(403, "another site may not ask for this")
    return None if head.method in _SAFE else _post_fault(head, host)


def _form_fault(head: RequestHead) -> Fault | None:
    """Return what no browser's own request looks like."""
    if head.method not in {*_SAFE, "POST"}:
        return Fault(405, "only GET, HEAD and POST are answered here")
    size = sum(len(name) + len(value) for name, value in head.headers)
    if len(head.headers) > MAX_HEADERS or size > MAX_HEADERS_BYTES:
        return Fault(431, "the headers are too long")
    if len(head.raw_path) > MAX_PATH_BYTES or len(head.query) > MAX_QUERY_BYTES:
        return Fault(414, "the address is too long")
    if head.every(b"transfer-encoding") or len(head.every(b"content-length")) > 1:
        return Fault(400, "say the length of the body once, and send it whole")
    if head.every(b"upgrade") or head.every(b"x-http-method-override"):
        return Fault(400, "there is nothing to upgrade to")
    return None


def is_own_host(host: str, hosts: Collection[str]) -> bool:
    """Return true for a name of ours; a number is no name that somebody else could point here."""
    found = _PORT.match(host)
    if found is None:
        return False
    name = found["host"].lower().rstrip(".").strip("[]")
    if name == "localhost" or name in hosts:
        return True
    if name.endswith(_LOCAL):
        return _unnumbered(name) in map(_unnumbered, hosts)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _unnumbered(name: str) -> str:
    """Return a local name without the number that the second device of a name is given."""
    return _NUMBER.sub(_LOCAL, name)


def cookie(head: RequestHead, name: str) -> str:
    """Return a cookie of ours; empty if it is missing, is there twice or is none of ours."""
    found = []
    for line in head.every(b"cookie"):
        for pair in line.decode("latin-1").split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                found.append(value)
    return found[0] if len(found) == 1 and TOKEN.fullmatch(found[0]) else ""


def secured(name: str) -> str:
    """Return what a cookie is called that came by TLS: then no page without TLS has it.

    A browser takes no cookie without TLS of the name of one with it. With one name for both, who
    came by TLS once could not be let in without it for as long as that cookie lasts.
    """
    return f"__Host-{name}"


def _is_own_fetch(head: RequestHead) -> bool:
    """Return false for what another site's page fetches; a link that is followed is a visit."""
    site, mode = head.one(b"sec-fetch-site"), head.one(b"sec-fetch-mode")
    if site is None or site in {"same-origin", "none"}:
        return True
    return head.method in _SAFE and mode == "navigate" and not head.raw_path.startswith(b"/live")


def _post_fault(head: RequestHead, host: str) -> Fault | None:
    origin = head.one(b"origin")
    # Behind a proxy with TLS the page's own scheme is https
    if origin not in {f"http://{host}", f"https://{host}"}:
        return Fault(403, "another site may not send this")
    kind = head.one(b"content-type") or ""
    is_file = head.raw_path == FILE_PATH
    if kind.partition(";")[0].strip().lower().encode() != (_FILE if is_file else _FORM):
        return Fault(415, "send it as a form")
    length = head.one(b"content-length")
    if length is None or not re.fullmatch(r"[0-9]{1,9}", length):
        return Fault(411, "say how long it is")
    if int(length) > (MAX_FILE_BYTES if is_file else MAX_BODY_BYTES):
        return Fault(413, "that is too long")
    return None


class _Bucket(Struct):
    left: float
    at_s: float


class Pace(Struct):
    """Rate limit of each address: a bucket for each, a bounded number of them."""

    burst: float = BURST
    per_s: float = PER_S
    _of: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    def take(self, who: str, now_s: float) -> bool:
        """Return true if the address may ask now."""
        bucket = self._of.pop(who, None) or _Bucket(self.burst, now_s)
        self._of[who] = bucket
        if len(self._of) > MAX_CALLERS:
            self._of.popitem(last=False)
        bucket.left = min(self.burst, bucket.left + (now_s - bucket.at_s) * self.per_s)
        bucket.at_s = now_s
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True
