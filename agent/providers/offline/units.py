"""Units of a text that vocabulary is matched by: words, and single characters without spaces.

Units are folded (width, case, accents, traditional characters) and know where they stand in the
original, so that a person's own words can be quoted unchanged. Any text is taken; the length of
what is looked at is bounded.
"""

import enum
import re
import unicodedata
from collections.abc import Mapping

from msgspec import Struct

# Longer than any command: the rest of a long message is kept, not understood
MAX_CHARS = 2000

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA = "\u3041-\u3096\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_UNSPACED = f"{_HAN}{_KANA}{_HANGUL}"
_SUFFIXES = "txt|md|json|csv|toml|ya?ml|log|py|ini|conf|html?|xml|pdf|jpe?g|png|wav|mp3|sh|dat"

# Little words that French and Italian write together with the next one: l'eau, dell'acqua
_ELIDED = (
    "l|d|qu|j|n|m|t|s|c|v|jusqu|lorsqu|puisqu|un|gl|dell|all|nell|sull|dall|quell|quest|dov|com"
    "|cos|bell"
)

_UNIT = re.compile(
    rf"""(?P<path>[~./]*[a-z0-9_-]+(?:[/.][a-z0-9_-]+){{0,8}}\.(?:{_SUFFIXES})(?![a-z0-9_]))
    |(?P<number>\d{{1,2}}[hu]\d\d(?!\w)|(?:(?<![\w.,])\.)?\d{{1,15}}(?:[.,:/\u2044]\d{{1,15}})*)
    |(?P<han>[{_HAN}])|(?P<kana>[{_KANA}])|(?P<hangul>[{_HANGUL}])
    |(?P<word>(?<!\w)(?:{_ELIDED})'(?=[^\W\d_]|\Z)
        |(?:(?![{_UNSPACED}])\w)+(?:'(?:(?![{_UNSPACED}])\w)+)*)
    |(?P<mark>[^\w\s]|\n)""",
    re.VERBOSE,
)
# An hour with its minutes, as French and Dutch write it: 20h30, 20u30
_HOUR = re.compile(r"(\d+)[hu](\d\d)")
# Behind a number: 2½
_PARTS = {"½": ".5", "¼": ".25", "¾": ".75"}
_APOSTROPHES = frozenset("’‘`´")
# Beyond it there are no Latin letters, and marks are part of the letter
_LAST_LATIN = "\u024f"
# What may stand around words and says nothing
EDGES = " ,.;:!?、。，！？\"'“”„«»「」"


class UnitKind(enum.Enum):
    """Kind of a unit."""

    WORD = "word"
    NUMBER = "number"
    PATH = "path"
    # One Chinese character, also in Japanese
    HAN = "han"
    KANA = "kana"
    # One Korean syllable
    HANGUL = "hangul"
    # Punctuation, or a line break
    MARK = "mark"


UNSPACED = frozenset({UnitKind.HAN, UnitKind.KANA, UnitKind.HANGUL})


class Unit(Struct, frozen=True):
    """A folded piece of text; `start` and `end` are its place in the original."""

    text: str
    kind: UnitKind
    start: int
    end: int
    # Nothing stands between it and the unit before
    glued: bool


def tidy(text: str) -> str:
    """Return the form that places refer to: composed characters, no lone surrogates."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", sound)


def is_in(char: str, encoding: str) -> bool:
    """Return true if a country's own character set has the character."""
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def split(text: str, variants: Mapping[str, str]) -> tuple[Unit, ...]:
    """Return the units of the first `MAX_CHARS` of a tidy text."""
    pieces = [
        _PARTS[char] if char in _PARTS and text[:at][-1:].isdecimal() else _fold(char, variants)
        for at, char in enumerate(text[:MAX_CHARS])
    ]
    places = [place for place, piece in enumerate(pieces) for _ in piece]
    units: list[Unit] = []
    last_end = -1
    for match in _UNIT.finditer("".join(pieces)):
        start, end = places[match.start()], places[match.end() - 1] + 1
        kind = UnitKind(match.lastgroup)
        word = _accented(text[start:end]) or _HOUR.sub(r"\1:\2", match.group())
        units.append(Unit(word, kind, start, end, match.start() == last_end))
        last_end = match.end()
    return tuple(units)


def _accented(letter: str) -> str:
    """Return a word of one letter with its accent: è is no e; empty for anything else."""
    folded = unicodedata.normalize("NFKC", letter).casefold()
    is_latin = len(folded) == 1 and "\xdf" < folded <= _LAST_LATIN
    return folded if is_latin and folded.isalpha() else ""


def _fold(char: str, variants: Mapping[str, str]) -> str:
    if char in _APOSTROPHES:
        return "'"
    if char in variants:
        return variants[char]
    folded = unicodedata.normalize("NFKC", char).casefold()
    if folded <= "\x7f":
        return folded
    parts = unicodedata.normalize("NFD", folded)
    if parts[0] <= _LAST_LATIN:
        return "".join(part for part in parts if not unicodedata.combining(part))
    return folded
