"""Removal of secrets from text that leaves the agent: logs, answers, error texts of services.

Known secrets are removed in every spelling, and so is text that looks like a key.
"""

import base64
import codecs
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from agent.config import MASK, Secret

__all__ = ["MASK", "MIN_SECRET_CHARS", "Redactor", "without_contents"]

# Shorter ones would blank out ordinary words
MIN_SECRET_CHARS = 6
# Shorter pieces stand in ordinary text by chance
_LEAST_PIECE_CHARS = 8
# Letters of a shorter secret follow each other in ordinary text, such as 1, 2, 3, 4, 5, 6
_LEAST_SPACED_LETTERS = 16
# Between two letters may stand: line ends, spaces, quotes, signs that are not shown
_SIGN = r"[\W_]"
_MOST_BETWEEN = 4
_OFFSETS = 3
_BITS = 6


class Redactor:
    """Removes the secrets of this agent; more can be added while it runs."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings: tuple[str, ...] = ()
        self._spaced: tuple[re.Pattern[str], ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: Secret) -> None:
        """Hide this secret from now on."""
        text = secret.reveal()
        if len(text) >= MIN_SECRET_CHARS:
            known = {*self._spellings, *spellings(text)}
            # The longest first: one may contain another
            self._spellings = tuple(
                sorted(known, key=lambda known_one: (-len(known_one), known_one))
            )
            if (pattern := spaced(text)) is not None:
                self._spaced = (*self._spaced, pattern)

    def knows(self, text: str) -> bool:
        """Return true if the text contains a secret."""
        is_there = any(spelling in text for spelling in self._spellings)
        return is_there or any(pattern.search(text) for pattern in self._spaced)

    def redact(self, text: str) -> str:
        from agent.security.key_shapes import without_keys  # noqa: PLC0415 - no start needs it

        return without_keys(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Mask only known secrets: fast enough for a text that is shown while it grows."""
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        for pattern in self._spaced:
            text = pattern.sub(MASK, text)
        return text


def without_contents(arguments_json: str) -> str:
    """Return a request's arguments without its body and its header values."""
    try:
        arguments = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return MASK
    if not isinstance(arguments, dict):
        return MASK
    headers, body = arguments.get("headers"), arguments.get("body")
    if headers:
        arguments["headers"] = dict.fromkeys(headers, MASK) if isinstance(headers, dict) else MASK
    if body:
        arguments["body"] = f"{MASK} ({len(str(body))} characters)"
    return json.dumps(arguments, ensure_ascii=False) if headers or body else arguments_json


# As `html.escape`, whose module brings half a megabyte of names of letters
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def spellings(text: str) -> set[str]:
    """Return each spelling that is a fixed text, in upper and lower case too."""
    plain = {one for one in _of_text(text) if one}
    coded = {one for one in _of_bytes(text.encode()) if len(one) >= _LEAST_PIECE_CHARS}
    both = plain | coded
    # Base64 in another case is another text, but nobody means another one by it
    return both | {one.lower() for one in both} | {one.upper() for one in both}


def spaced(text: str) -> re.Pattern[str] | None:
    """Return a pattern with gaps between letters; None if it would match ordinary text."""
    if sum(map(str.isalnum, text)) < _LEAST_SPACED_LETTERS:
        return None
    pattern, signs = "", 0
    for char in text:
        if not char.isalnum():
            signs += 1
            continue
        # Any signs stand for the secret's own: a gap that had to find them could part a row of
        # signs in more ways than there is time to try
        most = signs + (signs + 1) * _MOST_BETWEEN
        pattern += (f"{_SIGN}{{{signs},{most}}}" if pattern else "") + re.escape(char)
        signs = 0
    return re.compile(pattern)


def _of_text(text: str) -> Iterator[str]:
    import shlex  # noqa: PLC0415 - no start without a secret needs it

    escaped = json.dumps(text)[1:-1]
    percent = quote(text, safe="")
    yield text
    yield escaped
    yield escaped.replace("/", r"\/")
    # In a string that stands in a string
    yield json.dumps(escaped)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield repr(text)[1:-1]
    yield shlex.quote(text)
    yield text.replace("'", "''")
    yield percent
    yield quote_plus(text)
    yield quote(percent, safe="")
    yield text.translate(_HTML)
    yield text.translate(_HTML).replace("&#x27;", "&#39;")
    if len(text) >= _LEAST_PIECE_CHARS:
        yield text[::-1]
        yield codecs.encode(text, "rot13")
    yield from _character_by_character(text)


def _character_by_character(text: str) -> Iterator[str]:
    codes = [ord(one) for one in text]
    yield "".join(f"&#{code};" for code in codes)
    yield "".join(f"&#x{code:x};" for code in codes)
    yield "".join(f"\\u{code:04x}" for code in codes)
    yield "".join(f"\\u{code:04X}" for code in codes)
    yield "".join(f"\\u{{{code:x}}}" for code in codes)


def _of_bytes(told: bytes) -> Iterator[str]:
    pairs = [f"{one:02x}" for one in told]
    for between in ("", " ", ":", "-", ", 0x", r"\x", "%"):
        yield between.join(pairs)
    yield ", ".join(map(str, told))
    yield "".join(f"\\{one:03o}" for one in told)
    yield base64.b32encode(told).decode().rstrip("=")
    yield base64.a85encode(told).decode()
    for offset in range(_OFFSETS):
        inner = _in_base64(told, offset)
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))
    whole = base64.b64encode(told).decode().rstrip("=")
    yield whole
    yield whole.translate(str.maketrans("+/", "-_"))


def _in_base64(told: bytes, offset: int) -> str:
    """Return the part that stays the same in Base64 whatever surrounds the text."""
    coded = base64.b64encode(bytes(offset) + told).decode()
    first = -(-offset * 8 // _BITS)
    return coded[first : (offset + len(told)) * 8 // _BITS]
