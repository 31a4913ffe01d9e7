"""Sentences that mean the same at any time, and sentences that correct what was done."""

from collections.abc import Sequence
from functools import cache

from agent.providers.offline.clauses import clauses_of
from agent.providers.offline.language import detect
from agent.providers.offline.lexicon import LANGUAGES, lexicon, variants
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.units import split, tidy

# With one of these a sentence means something only after another one, or only sometimes
_LEANING = frozenset(
    {
        *("yes", "no", "cancel", "again", "too", "another", "there", "more", "less"),
        *("first", "second", "third", "both", "suppose", "negate", "past", "report", "watch"),
    }
)
_CORRECTING = frozenset({"no", "cancel", "negate"})
# Shorter words mean different things in different languages
_PLAIN_CHARS = 4


def stands_alone(text: str) -> bool:
    """Return true if a sentence points at no other one, and at no time of day."""
    analysis = analyse(text, detect(text))
    if not _senses(analysis).isdisjoint(_LEANING) or _has_one_of("pointing", analysis):
        return False
    # For five seconds is a part of the order; at five is a time of day
    measured = {piece for clause in clauses_of(analysis) for piece in clause.measures}
    return measured.issuperset(piece for piece in analysis.pieces if "later" in piece.senses)


def corrects(text: str) -> bool:
    """Return true if the message says that something else was meant."""
    analysis = analyse(text, detect(text))
    senses = _senses(analysis)
    return not senses.isdisjoint(_CORRECTING) or _has_one_of("correcting", analysis)


def _senses(analysis: Analysis) -> frozenset[str]:
    return frozenset(sense for piece in analysis.pieces for sense in piece.senses)


def _has_one_of(table: str, analysis: Analysis) -> bool:
    """Test in the text's language, or plainly in another: short texts may be taken for English."""
    said = _texts(analysis.text)
    forms = (
        form
        for code in LANGUAGES
        for form in _forms(code, table)
        if code == analysis.code or len("".join(form)) >= _PLAIN_CHARS or not form[0].isascii()
    )
    return any(_stands_in(form, said) for form in forms)


@cache
def _forms(code: str, table: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_texts(form) for form in lexicon(code).wording["sayings"][table])


def _texts(text: str) -> tuple[str, ...]:
    return tuple(unit.text for unit in split(tidy(text), variants()))


def _stands_in(form: Sequence[str], said: Sequence[str]) -> bool:
    width = len(form)
    return any(tuple(said[place : place + width]) == form for place in range(len(said)))
