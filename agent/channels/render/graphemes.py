"""Graphemes of a text: places where it may be cut without breaking a visible sign.

The rules of Unicode's extended grapheme clusters, as far as the standard library knows the
characters: combining marks, joined emoji, flags, skin tones, tags, Hangul, CR LF.
"""

import unicodedata

_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_LEADING, _VOWEL, _TRAILING = range(0x1100, 0x1160), range(0x1160, 0x11A8), range(0x11A8, 0x1200)
_SYLLABLES = range(0xAC00, 0xD7A4)
# Of each leading consonant and vowel the first syllable has no trailing consonant
_TRAILINGS = 28
# Halfwidth marks of voiced kana, which attach though they count as letters
_VOICED = "\uff9e\uff9f"


def may_cut(text: str, place: int) -> bool:
    """Return true if a sign ends before `place`."""
    if place <= 0 or place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if before in "\r\n" or after in "\r\n":
        return before + after != "\r\n"
    # After a joiner is looked at more strictly than Unicode does: no pair of any kind is parted
    if _attaches(after) or before == _JOINER or _joins_syllable(before, after):
        return False
    if ord(before) in _REGIONAL and ord(after) in _REGIONAL:
        return _flags_before(text, place) % 2 == 0
    return True


def last_cut(text: str, place: int) -> int:
    """The last place up to `place` where a sign ends; `place` itself where one is too long."""
    for earlier in range(place, 0, -1):
        if may_cut(text, earlier):
            return earlier
    return place


def _attaches(char: str) -> bool:
    code = ord(char)
    return (
        char in (_JOINER, _NON_JOINER)
        or unicodedata.category(char) in {"Mn", "Me", "Mc"}
        or code in _SKIN_TONES
        or code in _TAGS
        or char in _VOICED
    )


def _joins_syllable(before: str, after: str) -> bool:
    first, second = ord(before), ord(after)
    is_open = first in _SYLLABLES and (first - _SYLLABLES.start) % _TRAILINGS == 0
    if first in _LEADING:
        return second in _LEADING or second in _VOWEL or second in _SYLLABLES
    if first in _VOWEL or is_open:
        return second in _VOWEL or second in _TRAILING
    return (first in _TRAILING or first in _SYLLABLES) and second in _TRAILING


def _flags_before(text: str, place: int) -> int:
    """Return the number of regional indicators right before `place`."""
    count = 0
    while count < place and ord(text[place - count - 1]) in _REGIONAL:
        count += 1
    return count
