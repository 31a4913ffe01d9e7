"""Request bodies that are being read, with limits of time and memory.

Where they hold too much, the oldest of the large ones is refused, and not the newest.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from agent.gateway.callers import Headers

# What any platform sends, and no more than is held in memory anyway
MAX_BODY_BYTES = 1024 * 1024
_ONCE = (b"host", b"content-length", b"authorization", b"transfer-encoding", b"content-type")
_PORT = re.compile(r":[0-9]{1,5}\Z")
_DIGITS = re.compile(rb"[0-9]{1,18}")
# Browsers say it of requests that a page has made
_BY_BROWSERS = (b"origin", b"sec-fetch-site", b"sec-websocket-key")


class RequestFault(Struct, frozen=True):
    """Reason for the refusal of a request; the text repeats nothing of it."""

    status: int
    text: str


def fault_of(headers: Headers, query: bytes, hosts: frozenset[str]) -> RequestFault | None:
    """Return the broken rule; None if the request keeps them all."""
    count = Counter(name for name, _ in headers)
    if any(count[name] > 1 for name in _ONCE):
        return RequestFault(400, "a header comes twice")
    if query:
        return RequestFault(400, "nothing is asked in the URL here, and no token belongs there")
    by_name = dict(headers)
    host = by_name.get(b"host", b"").decode("latin-1").lower()
    if _PORT.sub("", host).rstrip(".") not in hosts:
        return RequestFault(421, "this is not called so; gateway.hosts says how it is called")
    if any(name in by_name for name in _BY_BROWSERS):
        return RequestFault(403, "no page of a browser may ask here")
    return _size_fault(by_name)


def _size_fault(by_name: dict[bytes, bytes]) -> RequestFault | None:
    length = by_name.get(b"content-length")
    if length is None:
        return None
    if b"transfer-encoding" in by_name or not _DIGITS.fullmatch(length):
        return RequestFault(400, "how long the body is cannot be told")
    return RequestFault(413, "the body is too long") if int(length) > MAX_BODY_BYTES else None


# A request's line and all of its headers
MAX_HEAD_BYTES = 16 * 1024
# More than any platform and any chain of proxies sends
MAX_HEADERS = 100
END = b"\r\n\r\n"
_LOOSE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)(?=[\s\S])")
_FOLDED = re.compile(rb"\n[ \t]")
# A piece may begin with what ends the piece before it
_OVERLAP_BYTES = len(END) - 1


class RequestHead:
    """Head of a request while it comes."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._looked_bytes = 0

    def add(self, data: bytes) -> None:
        self._held += data

    def take(self) -> bytes | None:
        """Add bytes; return all of them once the head is whole, else None."""
        if self._held.find(END, self._looked_bytes) < 0:
            return None
        return bytes(self._held)

    def fault(self) -> RequestFault | None:
        """Return the first fault so far; None if there is none."""
        end = self._held.find(END, self._looked_bytes)
        stop = len(self._held) if end < 0 else end + len(END)
        if stop > MAX_HEAD_BYTES or self._held.count(b"\n", 0, stop) > MAX_HEADERS + 2:
            return RequestFault(431, f"the headers are too long: {MAX_HEAD_BYTES} bytes are taken")
        begin = self._looked_bytes
        if _LOOSE_END.search(self._held, begin, stop):
            return RequestFault(400, "a line of the headers has to end with CR and LF")
        if _FOLDED.search(self._held, begin, stop):
            return RequestFault(400, "a header has to stand in one line")
        if end < 0:
            self._looked_bytes = max(0, len(self._held) - _OVERLAP_BYTES)
        return None


# A platform sends a body at once; who takes longer holds a connection
BODY_TIMEOUT_S = 5.0
# Each so many bytes give it a second more, so that a long body over a thin line comes through
LEAST_BYTES_PER_S = 64 * 1024
# Whatever comes: the longest body that is taken has 21 s at the least rate
MAX_BODY_S = BODY_TIMEOUT_S + MAX_BODY_BYTES / LEAST_BYTES_PER_S
# Of all bodies that are being read: a crowd of callers takes no more memory than this
MAX_HELD_BYTES = 2 * MAX_BODY_BYTES


class CrowdedOut(Exception):
    """The bodies hold too much memory together, and this one must go."""


class RequestBody:
    """Body of one request while it is read."""

    def __init__(self, bodies: "RequestBodies") -> None:
        self._bodies = bodies
        self._begun_s = asyncio.get_running_loop().time()
        self.deadline = asyncio.timeout_at(self._begun_s + BODY_TIMEOUT_S)
        self.is_out = False
        self.held = bytearray()

    def add(self, piece: bytes) -> None:
        """Add a piece, and extend the time limit.

        Raises:
            CrowdedOut: there is no room, and no other body has to go before this one.
        """
        self.held += piece
        self._bodies.make_room()
        if self.is_out:
            raise CrowdedOut
        earned_s = len(self.held) / LEAST_BYTES_PER_S
        self.deadline.reschedule(self._begun_s + min(BODY_TIMEOUT_S + earned_s, MAX_BODY_S))

    def give_up(self) -> None:
        """Drop the body and wake its reader."""
        self.is_out = True
        self.held = bytearray()
        if not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time())


class RequestBodies:
    """Bodies that are being read, the oldest first."""

    def __init__(self) -> None:
        self._read: list[RequestBody] = []

    @contextlib.contextmanager
    def reading(self) -> Iterator[RequestBody]:
        body = RequestBody(self)
        self._read.append(body)
        try:
            yield body
        finally:
            self._read.remove(body)

    @property
    def held_bytes(self) -> int:
        return sum(len(one.held) for one in self._read)

    def make_room(self) -> None:
        """Refuse the oldest of those that hold more than an even share, until there is room."""
        while (held := self.held_bytes) > MAX_HELD_BYTES:
            share = held / len(self._read)
            next(one for one in self._read if len(one.held) >= share).give_up()
