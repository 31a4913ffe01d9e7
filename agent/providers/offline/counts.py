"""Counts of hours, minutes and seconds as they are said, whole or not at all: 25, halves too."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from agent.providers.offline.amounts import from_digits
from agent.providers.offline.lexicon import lexicon, standard
from agent.providers.offline.time_vocabulary import TimeVocabulary, time_vocabulary
from agent.providers.offline.units import Unit, UnitKind

_TEN = 10
_TEENS_END = 20
_HUNDRED = 100
_THOUSAND = 1000
# Between a ten and what follows it: forty-two is one unit after another, cuarenta y dos is not
_AND_WITHIN = {"es": "y"}
_AND_AFTER_HUNDRED = {"en": "and", "de": "und"}
# Where ten follows how many of them there are: 三十
_TEN_COUNTS = frozenset({"zh", "ja", "ko"})


class Count(Struct, frozen=True):
    """A number and where it ends."""

    value: float
    end: int


def count_at(units: Sequence[Unit], position: int, code: str) -> Count | None:
    """The number that begins here, by all the words that belong to it."""
    if position >= len(units):
        return None
    unit = units[position]
    if unit.kind is UnitKind.NUMBER:
        value = from_digits(unit.text, lexicon(code).wording["decimal"])
        return None if value is None else Count(value, position + 1)
    return _spoken(units, position, code)


def _spoken(units: Sequence[Unit], position: int, code: str) -> Count | None:
    own = time_vocabulary(code)
    value, end = -1.0, position
    while (word := _word_at(units, end, own)) is not None:
        joined = _joined(value, word.value, code)
        if joined is None:
            break
        value, end = joined, word.end
        and_end = _past_and(units, end, value, code)
        if and_end != end:
            after = _word_at(units, and_end, own)
            if after is None or _joined(value, after.value, code) is None:
                break
            end = and_end
    return Count(value, end) if end > position else None


def _word_at(units: Sequence[Unit], position: int, own: TimeVocabulary) -> Count | None:
    found = own.spoken.at(units, position)
    if found is not None:
        return Count(float(found.values[0]), found.end)
    if own.code == "de" and position < len(units) and units[position].kind is UnitKind.WORD:
        value = _german().get(units[position].text)
        return None if value is None else Count(value, position + 1)
    return None


def _joined(value: float, word: float, code: str) -> float | None:
    """The number with one more word; None where that makes no number."""
    if value < 0:
        return word
    if value % 1 or word % 1:
        return None
    if word == _HUNDRED:
        return value * _HUNDRED if 0 < value < _TEN else None
    if word == _TEN and code in _TEN_COUNTS:
        return _counted_tens(value)
    return _added(value, word) if word and value else None


def _counted_tens(value: float) -> float | None:
    ones = value % _TEN
    hundreds = value - ones
    return None if hundreds % _HUNDRED else hundreds + (ones or 1) * _TEN


def _added(value: float, word: float) -> float | None:
    """Tens and ones after what is larger than they are."""
    rest = value % _HUNDRED
    if not rest:
        return value + word if word < _HUNDRED else None
    return value + word if word < _TEN and rest >= _TEN and rest % _TEN == 0 else None


def _past_and(units: Sequence[Unit], end: int, value: float, code: str) -> int:
    """Return where a number goes on after a word that joins its parts."""
    if end >= len(units):
        return end
    within = units[end].text == _AND_WITHIN.get(code) and value % _HUNDRED >= _TEENS_END
    after = units[end].text == _AND_AFTER_HUNDRED.get(code) and value >= _HUNDRED
    whole = value % _TEN == 0 if within else value % _HUNDRED == 0
    return end + 1 if (within or after) and whole else end


@cache
def _german() -> dict[str, float]:
    """Numbers that German writes as one word, and those with a half."""
    ones, small = _below_hundred(standard("de"))
    hundreds = {f"{one}hundert": ones[one] * _HUNDRED for one in ones if one != "eins"}
    hundreds |= {"hundert": float(_HUNDRED)}
    large = {
        f"{head}{join}{tail}": hundreds[head] + small[tail]
        for head in hundreds
        for join in ("", "und")
        for tail in small
        if not small[tail] % 1
    }
    # Of its dialects, only what minutes are counted in: every mixture would take megabytes
    small = _below_hundred(lexicon("de").wording)[1]
    halves = {f"{word}einhalb": value + 0.5 for word, value in small.items() if not value % 1}
    return small | hundreds | large | halves


def _below_hundred(language: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the ones, and all numbers below a hundred, in the words of a language's tables."""
    words, numerals = language["timing"]["spoken"], language["numerals"]
    small = {
        _folded(form): float(value)
        for value, forms in words.items()
        for form in forms
        if 0 < float(value) < _HUNDRED
    }
    ones = {word: value for word, value in small.items() if value < _TEN and not value % 1}
    ones |= {_folded(word): float(value) for word, value in numerals["inside"].items()}
    tens = {word: value for word, value in small.items() if value >= _TEENS_END}
    small |= {
        f"{one}{joint}{ten}": ones[one] + tens[ten]
        for one in ones
        for joint in {joint.strip() for joint in numerals["tens"]}
        for ten in tens
        if one != "eins"
    }
    return ones, small


def _folded(form: str) -> str:
    return re.sub("ß", "ss", form).translate(str.maketrans("äöü", "aou"))
