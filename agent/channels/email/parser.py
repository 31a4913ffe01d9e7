"""Parser of letters: within limits of time and memory, and with fields that break nothing.

A letter in the letter is content like any other. The standard library would take it apart, and
cannot always write it again: a border beyond ASCII is enough.
"""

import email.policy
import re
from email.feedparser import BytesFeedParser
from email.headerregistry import HeaderRegistry
from email.message import EmailMessage
from functools import lru_cache

from agent.channels.email.header_fields import MAX_HEADER_BYTES

# The longest name of a file, encoded; to read a field costs the square of its length
MAX_FIELD_CHARS = 1000
# Without the bulk of its files; the parser takes some seven times that
MAX_THIN_BYTES = 8 * 1024 * 1024
# Each is held in memory by itself
MAX_RAW_LINES = 500_000
# Lines that may begin a part, and fields that may begin parts in a part: each is read one deeper
MAX_BORDERS = 2000
MAX_TYPES = 100
# The parser looks at each line once for each part that it is in
MAX_LOOKS = 10_000_000
_FED_BYTES = 64 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\n)")
_HEADER_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_BORDER = re.compile(rb"[\r\n]--")
_TYPE = re.compile(rb"[\r\n]content-type:", re.IGNORECASE)
# The type of a letter in a letter
ATTACHED = "message/rfc822"
_REGISTRY = HeaderRegistry()


class Letter(EmailMessage):
    """Letter, or a part of one, whose attached letters are not taken apart."""

    def get_content_maintype(self) -> str:
        """Return the main type, by which the parser knows what it has to take apart."""
        is_attached = self.get_content_type() == ATTACHED
        return "application" if is_attached else super().get_content_maintype()


def is_readable(raw: bytes) -> bool:
    """Return true if the parser takes the letter apart in little time and memory.

    Args:
        raw: without the bulk of its files.
    """
    if len(raw) > MAX_THIN_BYTES:
        return False
    lines, types = _count(_LINE_END, raw), _count(_TYPE, raw)
    is_small = lines <= MAX_RAW_LINES and types <= MAX_TYPES and _count(_BORDER, raw) <= MAX_BORDERS
    return is_small and lines * (types + 1) <= MAX_LOOKS


def header_of(raw: bytes) -> bytes:
    """Return the letter's header, which alone is read where the whole is not."""
    found = _HEADER_END.search(raw, 0, MAX_HEADER_BYTES)
    return raw[: found.end() if found else MAX_HEADER_BYTES]


def parsed(raw: bytes) -> Letter:
    # The default policy's headers are decoded
    policy = email.policy.default.clone(header_factory=_field, message_factory=Letter)
    parser = BytesFeedParser(policy=policy)
    # At once it would be held in memory five times over
    for start in range(0, len(raw), _FED_BYTES):
        parser.feed(raw[start : start + _FED_BYTES])
    message = parser.close()
    assert isinstance(message, Letter)
    return message


def _field(name: str, value: str) -> str:
    return _read_field(name, value[:MAX_FIELD_CHARS])


# Each is asked for several times
@lru_cache(maxsize=2 * MAX_TYPES)
def _read_field(name: str, value: str) -> str:
    try:
        return _REGISTRY(name, value)
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        # The standard library's parser gives up on some that people made to that end
        return _REGISTRY(name, "")


def _count(form: re.Pattern[bytes], raw: bytes) -> int:
    return sum(1 for _ in form.finditer(raw))
