"""Which of the known languages a text is in: by script, by its letters, by the words that fit."""

from collections.abc import Mapping
from functools import lru_cache

from agent.providers.offline.lexicon import LANGUAGES, lexicon
from agent.providers.offline.pieces import Analysis, Piece, analyse
from agent.providers.offline.timing import words_of_time
from agent.providers.offline.units import Kind

# This much tells a language; the rest would only cost time
_LOOKED_AT_CHARS = 300
# Each turn of a conversation is looked at again in every later one
_REMEMBERED_TEXTS = 64
_SCRIPTS = {
    "en": frozenset({Kind.WORD}),
    "de": frozenset({Kind.WORD}),
    "es": frozenset({Kind.WORD}),
    "zh": frozenset({Kind.HAN}),
    "ja": frozenset({Kind.HAN, Kind.KANA}),
    "ko": frozenset({Kind.HANGUL}),
}
# A letter that one language writes and its neighbours do not is worth more than a word
_LETTER_WEIGHT = 1.5
# A unit in the right script that no form explains still says something
_SCRIPT_WEIGHT = 0.4
# Kana settles it: Chinese has none
_KANA_WEIGHT = 1.0


def detect(text: str, previous: str = "en") -> str:
    """The code of the language of a text; on a draw the previous one, then English."""
    if not text.strip():
        return previous
    weights = _weights(text[:_LOOKED_AT_CHARS])
    best = max(weights.values())
    drawn = [code for code in LANGUAGES if weights[code] >= best]
    if len(drawn) == len(LANGUAGES) or previous in drawn:
        return previous
    return drawn[0]


@lru_cache(_REMEMBERED_TEXTS)
def _weights(shown: str) -> Mapping[str, float]:
    return {code: _weight(analyse(shown, code)) for code in LANGUAGES}


def _weight(analysis: Analysis) -> float:
    own = lexicon(analysis.code)
    weight = _LETTER_WEIGHT * sum(char in own.letters for char in analysis.text.casefold())
    for piece in analysis.pieces:
        if piece.kind is Kind.KANA and analysis.code == "ja":
            weight += _KANA_WEIGHT * piece.width
        number_word = piece.number is not None and not piece.text[0].isdecimal()
        of_time = _is_of_time(piece, analysis)
        own_word = number_word or of_time or (piece.known and not piece.foreign)
        if own_word or piece.kind in _SCRIPTS[analysis.code]:
            weight += piece.width * _worth(piece, of_time=of_time)
    return weight


def _is_of_time(piece: Piece, analysis: Analysis) -> bool:
    """A word for timers and times, which the tables of these have."""
    return piece.kind is Kind.WORD and piece.text in words_of_time(analysis.code)


def _worth(piece: Piece, *, of_time: bool) -> float:
    unknown = not piece.known and piece.number is None and not of_time
    foreign = piece.foreign and not of_time
    return _SCRIPT_WEIGHT if foreign or unknown else 1.0
