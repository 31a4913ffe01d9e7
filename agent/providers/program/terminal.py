"""Text of a program that may write for a terminal: without colours, titles and control characters.

Bytes come in pieces of any size; the text is the same however they were cut.
"""

import codecs
import re

# A title or a link in an escape sequence; what is longer is none
MAX_SEQUENCE_CHARS = 4096
_ESCAPE = re.compile(
    # Colours and the cursor; titles, links and their like, which end with a bell or a backslash
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{{0,{MAX_SEQUENCE_CHARS}}}"
    r"(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,8}[0-~]"
)
# What of these may still come, at the end of what is there
_BEGUN = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}\Z"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{{0,{MAX_SEQUENCE_CHARS}}}\x1b?\Z"
    r"|\x1b[ -/]{0,8}\Z"
)
_FIRST = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class TerminalText:
    """Text of one stream of bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, piece: bytes) -> str:
        """Return the text that is certain by now."""
        text = self._held + self._decoder.decode(piece)
        at = _end_of_certain(text)
        self._held = text[at:]
        return plain(text[:at])

    def close(self) -> str:
        """Return the rest; half a sequence is none."""
        rest = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        return plain(_BEGUN.sub("", rest))


def plain(text: str) -> str:
    """Return text without escape sequences and control characters; lines and tabs stay."""
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def _end_of_certain(text: str) -> int:
    """Return where a sequence begins that has no end yet; the length where there is none."""
    at = 0
    while (first := _FIRST.search(text, at)) is not None:
        whole = _ESCAPE.match(text, first.start())
        # The longer sequence may still come, of which the shorter is the beginning
        if _BEGUN.match(text, first.start()):
            return first.start()
        at = whole.end() if whole else first.end()
    return len(text)
