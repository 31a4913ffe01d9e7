"""Text from a peer, made fit for a log line or a terminal: the one function for it.

Control characters, escape sequences and direction marks are taken out and the length is capped;
nothing else is changed.
"""

import unicodedata

# Line breaks and tabs that a multi-line answer may keep
_LAYOUT = frozenset("\n\t")
# Cc control, Cf format (bidi, zero width), Cs lone surrogates, Co private use, Cn unassigned
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# With Zs, Zl, Zp: spaces and line ends of every kind
_UNSEEN = _HIDDEN | {"Zs", "Zl", "Zp"}
# Zero width joiner: without it emoji families and some scripts fall apart
_JOINER = "\u200d"


def printable_line(raw: str, limit: int) -> str:
    """One line of at most `limit` characters; line breaks and tabs become spaces."""
    spaced = "".join(" " if char in "\r\n\t\u2028\u2029" else char for char in raw[: 4 * limit])
    return _cleaned(spaced, frozenset())[:limit]


def printable_text(raw: str, limit: int) -> str:
    """Text of at most `limit` characters that keeps its line breaks and tabs."""
    return _cleaned(raw.replace("\r\n", "\n"), _LAYOUT)[:limit]


def spelled_out(raw: str) -> str:
    r"""Nothing is left out: what cannot be seen, or looks like a space, is written as `\u202e`."""
    return "".join(
        char
        if char == " " or unicodedata.category(char) not in _UNSEEN
        else char.encode("unicode_escape").decode("ascii")
        for char in raw
    )


def _cleaned(raw: str, kept: frozenset[str]) -> str:
    return "".join(
        char
        for char in raw
        if char in kept or char == _JOINER or unicodedata.category(char) not in _HIDDEN
    )
