"""Checks of a request's head as it comes from the wire, before a parser sees any of it.

A parser and a proxy before it may read loose line ends and folded headers in two ways. That is how
one request becomes two, so both are refused.
"""

import re

from agent.gateway.manners import Fault

# A request's line and all of its headers
MAX_HEAD_BYTES = 16 * 1024
# More than any platform and any chain of proxies sends
MAX_HEADERS = 100
END = b"\r\n\r\n"
_LOOSE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)(?=[\s\S])")
_FOLDED = re.compile(rb"\n[ \t]")
# A piece may begin with what ends the piece before it
_OVERLAP_BYTES = len(END) - 1


class Head:
    """The bytes of a head while they come."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._looked_bytes = 0

    def add(self, data: bytes) -> None:
        self._held += data

    def take(self) -> bytes | None:
        """All bytes from the first on, once the head is whole; None while it is not."""
        if self._held.find(END, self._looked_bytes) < 0:
            return None
        return bytes(self._held)

    def fault(self) -> Fault | None:
        """The first fault of what came so far; None where there is none."""
        end = self._held.find(END, self._looked_bytes)
        stop = len(self._held) if end < 0 else end + len(END)
        if stop > MAX_HEAD_BYTES or self._held.count(b"\n", 0, stop) > MAX_HEADERS + 2:
            return Fault(431, f"the headers are too long: {MAX_HEAD_BYTES} bytes are taken")
        begin = self._looked_bytes
        if _LOOSE_END.search(self._held, begin, stop):
            return Fault(400, "a line of the headers has to end with CR and LF")
        if _FOLDED.search(self._held, begin, stop):
            return Fault(400, "a header has to stand in one line")
        if end < 0:
            self._looked_bytes = max(0, len(self._held) - _OVERLAP_BYTES)
        return None
