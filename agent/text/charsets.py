"""Character sets that somebody else names for a text of theirs."""

import codecs

# Python's own codecs, in which no text is sent; one needs the square of a length, for a page hours
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


def is_charset(name: str) -> bool:
    """Return true for the name of a character set that is known here."""
    try:
        return codecs.lookup(name).name not in _NO_CHARSETS
    except (LookupError, ValueError):
        return False


def decoded(body: bytes, charset: str) -> str:
    """Return a text as its sender wrote it; one in no known character set is read as UTF-8."""
    try:
        return body.decode(charset if is_charset(charset) else "utf-8", errors="replace")
    except LookupError:
        # A codec from bytes to bytes, such as hex
        return body.decode(errors="replace")
