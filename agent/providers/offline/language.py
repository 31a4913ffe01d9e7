"""Language of a text, told by its script, its words and its letters.

Words of Latin letters count for every language whose vocabulary file has them, the less the more
of them have it. Where nothing tells, the language of the conversation so far stays.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from agent.providers.offline.lexicon import (
    LANGUAGES,
    dialects,
    lexicon,
    standard,
    tables,
    variants,
)
from agent.providers.offline.pieces import Analysis, Piece, analyse
from agent.providers.offline.units import Unit, UnitKind, is_in, split, tidy

# This much tells a language; the rest would only cost time
_LOOKED_AT_CHARS = 300
# Each turn of a conversation is looked at again in every later one
_REMEMBERED_TEXTS = 64
_SCRIPTS = {
    "zh": frozenset({UnitKind.HAN}),
    "ja": frozenset({UnitKind.HAN, UnitKind.KANA}),
    "ko": frozenset({UnitKind.HANGUL}),
}
_LATIN = tuple(code for code in LANGUAGES if code not in _SCRIPTS)
# A letter that few languages write is worth more than a word
_LETTER_WEIGHT = 1.5
# A unit in the right script that no form explains still says something
_SCRIPT_WEIGHT = 0.4
# Kana settles it: Chinese has none
_KANA_WEIGHT = 1.0
# From so many characters on, kana would be among them
_SENTENCE_HAN = 4
_NO_KANA_WEIGHT = 0.3
# A piece of a word that nobody knows
_HINT_WEIGHT = 0.2
# A little word that the neighbours have too, and use less
_STRONG_WEIGHT = 0.3
# Rounding makes no language likelier than another
_EQUAL = 1e-6


def detect(text: str, previous: str = "en") -> str:
    """Return the code of a text's language; on a draw the previous one, then English."""
    if not text.strip():
        return previous
    weights = _weights(text[:_LOOKED_AT_CHARS])
    best = max(weights.values())
    drawn = [code for code in LANGUAGES if weights[code] >= best - _EQUAL]
    says_nothing = best <= 0 or set(_LATIN) <= set(drawn)
    if says_nothing or previous in drawn:
        return previous
    return drawn[0]


@lru_cache(_REMEMBERED_TEXTS)
def _weights(shown: str) -> Mapping[str, float]:
    units = split(tidy(shown), variants())
    weights = _of_latin(shown.casefold(), units)
    kinds = {unit.kind for unit in units}
    for code, script in _SCRIPTS.items():
        weights[code] = _weight(analyse(shown, code)) if kinds & script else 0.0
    if UnitKind.HAN in kinds:
        han = [unit.text for unit in split(tidy(shown), {}) if unit.kind is UnitKind.HAN]
        for code, weight in _of_han(han, has_kana=UnitKind.KANA in kinds).items():
            weights[code] += weight
    return weights


def _of_han(han: Sequence[str], *, has_kana: bool) -> Mapping[str, float]:
    """Weigh Chinese against Japanese by characters that only one of the two writes."""
    chinese = float(sum(not is_in(char, "shift_jis") for char in han))
    japanese = sum(not is_in(char, "gb2312") and not is_in(char, "big5hkscs") for char in han)
    if not has_kana and len(han) >= _SENTENCE_HAN:
        chinese += _NO_KANA_WEIGHT * len(han)
    return {"zh": chinese, "ja": float(japanese)}


def _of_latin(shown: str, units: tuple[Unit, ...]) -> dict[str, float]:
    weights = dict.fromkeys(LANGUAGES, 0.0)
    signs = _signs()
    for word in (unit.text for unit in units if unit.kind is UnitKind.WORD):
        codes = signs.words.get(word)
        if codes is None:
            for code in _LATIN:
                weights[code] += _HINT_WEIGHT * sum(one in f" {word} " for one in signs.hints[code])
        else:
            for code in codes:
                weights[code] += 1 / len(codes)
        for code in _LATIN:
            weights[code] += _STRONG_WEIGHT * (word in signs.strong[code])
    for char in shown:
        codes = signs.letters.get(char, ())
        for code in codes:
            weights[code] += _LETTER_WEIGHT / len(codes)
    return weights


class _LatinSigns(Struct, frozen=True):
    """Signs of the languages of Latin letters, by which a text is told.

    Args:
        words: of the vocabulary files, and the languages that have each.
        letters: that few languages write.
        strong: little words of a language that the neighbours have too, and use less.
        hints: pieces of words of a language.
    """

    words: Mapping[str, tuple[str, ...]]
    letters: Mapping[str, tuple[str, ...]]
    strong: Mapping[str, frozenset[str]]
    hints: Mapping[str, frozenset[str]]


@cache
def _signs() -> _LatinSigns:
    words, spoken, letters, told = {}, {}, {}, {}
    for code in _LATIN:
        # One file after another, none of them is kept
        own = tables(code)
        told[code], letters[code] = own["language"], own["letters"]
        words[code], spoken[code] = _words_in([standard(code)]), _words_in(dialects(code))
    return _LatinSigns(
        # A word of a dialect tells nothing where it is a word of some language: no, de, a
        words=_owners(spoken) | _owners(words),
        letters=_owners(letters),
        strong={code: frozenset(table["strong"]) for code, table in told.items()},
        hints={code: frozenset(table["hints"]) for code, table in told.items()},
    )


def _owners(signs: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the languages of each sign, from the signs of each language."""
    found: dict[str, tuple[str, ...]] = {}
    # Many words, few combinations of languages
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    for code in sorted(signs):
        for sign in set(signs[code]):
            codes = (*found.get(sign, ()), code)
            found[sign] = shared.setdefault(codes, codes)
    return found


def _words_in(vocabulary: Sequence[Mapping[str, Any]]) -> set[str]:
    texts = (text for table in vocabulary for text in _texts(table))
    units = (unit for text in texts for unit in split(tidy(text), variants()))
    return {sys.intern(unit.text) for unit in units if unit.kind is UnitKind.WORD}


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a vocabulary: forms, answers and the spellings of numbers."""
    if isinstance(value, str):
        # The slot of an answer is no word of its language
        yield value if "{" not in value else " ".join(_outside_slots(value))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                yield str(key)
            elif key != "language":
                yield from _texts(inner)
        yield from value.get("language", {}).get("common", ())
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _outside_slots(template: str) -> Iterator[str]:
    for part in template.split("{"):
        yield part.partition("}")[2] if "}" in part else part


def _weight(analysis: Analysis) -> float:
    own = lexicon(analysis.code)
    weight = _LETTER_WEIGHT * sum(char in own.letters for char in analysis.text.casefold())
    for piece in analysis.pieces:
        if piece.kind is UnitKind.KANA and analysis.code == "ja":
            weight += _KANA_WEIGHT * piece.width
        number_word = piece.number is not None and not piece.text[0].isdecimal()
        own_word = number_word or (piece.known and not piece.foreign)
        if own_word or piece.kind in _SCRIPTS[analysis.code]:
            weight += piece.width * _worth(piece)
    return weight


def _worth(piece: Piece) -> float:
    unknown = not piece.known and piece.number is None
    return _SCRIPT_WEIGHT if piece.foreign or unknown else 1.0
