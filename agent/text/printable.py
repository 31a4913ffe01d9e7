"""Text from a peer, made fit for a log line or a terminal: the one function for it.

Control characters, escape sequences and direction marks are taken out and the length is capped;
nothing else is changed.
"""

import re
import unicodedata

# Line breaks and tabs that a multi-line answer may keep
_LAYOUT = frozenset("\n\t")
# Cc control, Cf format (bidi, zero width), Cs lone surrogates, Co private use, Cn unassigned
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# With Zs, Zl, Zp: spaces and line ends of every kind
_UNSEEN = _HIDDEN | {"Zs", "Zl", "Zp"}
# Letters and symbols without a shape, and what only chooses the shape of another
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# Put over what comes before them; scripts that need some have their own
_MARKS = frozenset({"Mn", "Mc", "Me"})
# Those of no script: a letter with one exists as a letter of its own, or in no language
_FLOATING = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\ufe20-\ufe2f]"
)
# On one letter: a vowel, a tone and a sign
_MOST_MARKS = 3
# How a name begins; where a text has that itself, its first character gets a name
_NAMED = "<U+"
# Zero width joiner: without it emoji families and some scripts fall apart
_JOINER = "\u200d"
_JOINERS = frozenset({_JOINER, "\u200c"})
# Overrides, embeddings and isolates: no language needs them in a message of its own
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def printable_line(raw: str, limit: int) -> str:
    """One line of at most `limit` characters; line breaks and tabs become spaces."""
    if raw.isprintable():
        return raw[:limit]
    spaced = "".join(" " if char in "\r\n\t\u2028\u2029" else char for char in raw[: 4 * limit])
    return _cleaned(spaced, frozenset())[:limit]


def printable_text(raw: str, limit: int) -> str:
    """Text of at most `limit` characters that keeps its line breaks and tabs."""
    return _cleaned(raw.replace("\r\n", "\n"), _LAYOUT)[:limit]


def spelled_out(raw: str) -> str:
    """Return the text with all in it to be seen: what hides is written as `<U+202E>`.

    That is what has no shape, looks like a space, or is put over the character before it where
    its script has no such marks. The same text looks the same, and another one never does.
    """
    if raw.isascii() and raw.isprintable() and _NAMED not in raw:
        return raw
    shown, marks = list[str](), 0
    for place, char in enumerate(raw):
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in _MARKS else 0
        before = raw[place - marks] if 0 < marks <= min(place, _MOST_MARKS) else ""
        is_seen = (
            char == " "
            or (kind in _MARKS and before.isalpha() and _FLOATING.match(char) is None)
            or (kind not in _UNSEEN and kind not in _MARKS)
        )
        is_named = raw.startswith(_NAMED, place)
        hides = not is_seen or is_named or _BLANK.match(char) is not None
        shown.append(f"<U+{ord(char):04X}>" if hides else char)
    return "".join(shown)


def with_hidden_named(raw: str) -> str:
    """Return a text of many lines in which what hides or turns text around has a name.

    Unlike `spelled_out` it leaves spaces, accents and joined emoji as they are: it is for reading.
    """
    if raw.isascii() and raw.isprintable():
        return raw
    lines = raw.replace("\r\n", "\n")
    return "".join(f"<U+{ord(char):04X}>" if _is_hidden(char) else char for char in lines)


def is_drawn(char: str) -> bool:
    """Return true for what has a shape of its own, or is a space."""
    return unicodedata.category(char) not in _HIDDEN and _BLANK.match(char) is None


def without_turning(raw: str) -> str:
    """Return the text without marks that show what follows them in another order."""
    return _TURNING.sub("", raw)


def _is_hidden(char: str) -> bool:
    is_kept = char in _LAYOUT or char in _JOINERS
    return not is_kept and unicodedata.category(char) in _HIDDEN


def spelled_text(raw: str, limit: int) -> str:
    """Return at most `limit` characters of it as `spelled_out`, with its line breaks."""
    return "\n".join(spelled_out(line) for line in raw.split("\n"))[:limit]


def _cleaned(raw: str, kept: frozenset[str]) -> str:
    if raw.isprintable():
        # Nothing of what hides is: most texts are read once instead of letter by letter
        return raw
    return "".join(
        char
        for char in raw
        if char in kept or char == _JOINER or unicodedata.category(char) not in _HIDDEN
    )
