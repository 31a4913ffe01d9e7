"""Search tokens of a text, the same for stored texts and for questions.

Han, kana and Hangul are written without spaces or with endings glued on, so their runs become
overlapping pairs of characters. Thai, Lao, Burmese and Khmer have no spaces either: there the pairs
are of letters with all that hangs on them. Everything else is split into words. Nothing here knows
a database.
"""

import enum
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise

# Blocks of signs that are words or halves of words
_HAN_BLOCKS = (
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3400, 0x4DBF),  # extension A
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),  # compatibility
    (0x20000, 0x3FFFF),  # extensions B and later
)
# Blocks whose scripts are searched by pairs: Han with kana and Hangul
_PAIRED_BLOCKS = (
    *_HAN_BLOCKS,
    (0x1100, 0x11FF),  # Hangul letters
    (0x3040, 0x30FF),  # Hiragana and Katakana
    (0x3130, 0x318F),  # Hangul compatibility letters
    (0x31F0, 0x31FF),  # Katakana extensions
    (0xA960, 0xA97F),  # Hangul letters, extended
    (0xAC00, 0xD7FF),  # Hangul syllables
    (0x1B000, 0x1B16F),  # kana supplement
)
# Those whose letters carry others
_HUNG_BLOCKS = (
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
)
# Vowels of Thai and Lao that are letters of their own: written before and after the one they are of
_VOWELS_BEFORE = frozenset("เแโใไເແໂໃໄ")
_VOWELS_AFTER = frozenset("ะาำๅະາຳ")
# Words of English questions that say nothing of what is asked for: without them a search finds
# 3 % more and costs a quarter. Other languages have theirs weighed down by being frequent
_EMPTY = (
    "a an and are as at be been but by can could d did do does for from had has have he her him"
    " his how i if in into is it its ll m me my no not of on or our re s she so t than that the"
    " their them then there they this to us ve was we were what when where which who whom why"
    " will with would you your"
)
# Pairs of Chinese question words: memories state, so the few that have them are no answers
_ASKING_PAIRS = (
    "什么 什麼 么时 麼時 是什 为什 為什 怎么 怎麼 如何 何时 何時 何种 何種 哪个 哪個 哪些 哪里 哪裡"
    " 哪种 哪種 哪一 哪位 哪年 哪座 哪支 多少 多大 多长 多長 几个 幾個 谁的 誰的 是谁 是誰"
)
_EMPTY_WORDS = frozenset(_EMPTY.split() + _ASKING_PAIRS.split())
# What letter by letter comes to the same, at a tenth of the time
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
# Distinct characters of a household's texts; each is classified once
_CLASSIFIED_CHARACTERS = 8192


class _Kind(enum.Enum):
    # Between tokens: spaces, punctuation, symbols
    SEPARATOR = 0
    # Part of a word
    WORD = 1
    # Part of a run that is searched by pairs
    PAIRED = 2
    # Part of a run that is searched by pairs of letters with what hangs on them
    HUNG = 3


# Their letters as a class of characters, as patterns have it
HUNG_LETTERS = "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _HUNG_BLOCKS) + "]"


def normalise(text: str) -> str:
    """Return the same text for any width, case or composition."""
    if text.isascii():
        return text.lower()
    # Folding may undo the composition, so it is composed once more
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokens(text: str) -> Iterator[str]:
    """Yield search tokens in the order of the text; none contains a space."""
    if text.isascii():
        yield from _ASCII_WORD.findall(text.lower())
        return
    for kind, group in groupby(normalise(text), _kind):
        if kind is _Kind.WORD:
            yield "".join(group)
        elif kind is _Kind.PAIRED:
            yield from _pairs(list(group))
        elif kind is _Kind.HUNG:
            yield from _pairs(_clusters(group))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the beginning and end of each run of letters, marks and numbers."""
    if text.isascii():
        return [found.span() for found in _ASCII_WORD.finditer(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for is_between, group in groupby(text, lambda one: _kind(one) is _Kind.SEPARATOR):
        end = start + len(list(group))
        if not is_between:
            spans.append((start, end))
        start = end
    return spans


def is_paired(character: str) -> bool:
    """Return true if the character is of a script that is searched by pairs of characters."""
    return _kind(character) is _Kind.PAIRED


def is_han(character: str) -> bool:
    """Return true for a sign that is a word or half of one, not a letter or a syllable."""
    return _is_in(character, _HAN_BLOCKS)


def asked_tokens(text: str, limit: int) -> list[str]:
    """Return each token that a question asks for; all of them if all are stop words."""
    distinct = dict.fromkeys(tokens(text))
    telling = [token for token in distinct if token not in _EMPTY_WORDS]
    return (telling or list(distinct))[:limit]


def is_marked(word: str) -> bool:
    """Return true if a letter has an accent, a tone or the like; scripts of pairs have none."""
    if word.isascii():
        return False
    parts = unicodedata.normalize("NFD", word)
    if any(map(is_paired, normalise(word))):
        return False
    return any(unicodedata.category(part) == "Mn" for part in parts)


def _pairs(run: list[str]) -> Iterator[str]:
    if len(run) == 1:
        yield run[0]
    for first, second in pairwise(run):
        yield first + second


def _clusters(run: Iterable[str]) -> list[str]:
    """Return each letter with the marks and vowels that belong to it."""
    found: list[str] = []
    for one in run:
        hangs = unicodedata.category(one)[0] == "M" or one in _VOWELS_AFTER
        if found and (hangs or found[-1][-1] in _VOWELS_BEFORE):
            found[-1] += one
        else:
            found.append(one)
    return found


@lru_cache(maxsize=_CLASSIFIED_CHARACTERS)
def _kind(character: str) -> _Kind:
    # Letters, marks and numbers make words; the rest separates them
    if unicodedata.category(character)[0] not in "LMN":
        return _Kind.SEPARATOR
    if _is_in(character, _PAIRED_BLOCKS):
        return _Kind.PAIRED
    if _is_in(character, _HUNG_BLOCKS):
        return _Kind.HUNG
    return _Kind.WORD


def _is_in(character: str, blocks: Sequence[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in blocks)
