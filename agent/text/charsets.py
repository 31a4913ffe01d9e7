"""Character sets that somebody else names for a text of theirs."""

import codecs

# Python's own codecs, in which no text is sent; one needs the square of a length, for a page hours
_ASCII = "ascii"
# By Python's name for it: the larger set that programs write under a smaller one's name
_WRITTEN_AS = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
# Hebrew, in whichever order
_OTHER_NAMES = {"iso-8859-8-i": "iso-8859-8", "iso-8859-8-e": "iso-8859-8"}
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


def is_charset(name: str) -> bool:
    """Return true for the name of a character set that is known here."""
    try:
        return codecs.lookup(_OTHER_NAMES.get(name, name)).name not in _NO_CHARSETS
    except (LookupError, ValueError):
        return False


def decoded(body: bytes, charset: str) -> str:
    """Return a text as its sender wrote it; one in no known character set is read as UTF-8.

    What is said to be ASCII, or of no set, and is not, is UTF-8 nearly always, else Windows' own.
    """
    if not is_charset(charset):
        return body.decode(errors="replace")
    name = codecs.lookup(_OTHER_NAMES.get(charset, charset)).name
    if name == _ASCII:
        return _unnamed(body)
    try:
        return body.decode(_WRITTEN_AS.get(name, name), errors="replace")
    except LookupError:
        # A codec from bytes to bytes, such as hex
        return body.decode(errors="replace")


def _unnamed(body: bytes) -> str:
    try:
        # Its last character may be cut
        return codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return body.decode("cp1252", errors="replace")
