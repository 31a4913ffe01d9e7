"""Small talk: who the agent is, how it is, sorry, good night.

Only where it is the whole of what is said: a wish beside it goes before it.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from agent.providers.offline.lexicon import LANGUAGES, lexicon, tables, variants
from agent.providers.offline.units import UnitKind, split, tidy

# What the agent may be called beside its own name
_NAMES = frozenset({"barnacle"})
# Longer than any of these sentences
_MOST_UNITS = 24


def small_talk(text: str, code: str, called: str) -> str | None:
    """Return the key of the small talk that a text is, in this language or plainly in another."""
    said = _texts(text)
    if not said or len(said) > _MOST_UNITS:
        return None
    names = _NAMES.union(_texts(called))
    core = tuple(word for word in said if word not in names) or said
    return _key(core, code) or _key(_without_greeting(core, code), code)


def language_of(text: str) -> str | None:
    """Return the one language in which a text is small talk; None for none or several."""
    said = tuple(word for word in _texts(text) if word not in _NAMES)
    found = [code for code in LANGUAGES if said and _key(said, code)]
    return found[0] if len(found) == 1 else None


def answer_of(key: str, code: str) -> str:
    """Return the template of the answer."""
    answer: str = lexicon(code).wording["manners"][key]["answer"]
    return answer


def _key(said: tuple[str, ...], code: str) -> str | None:
    return _by_words(code).get(said)


def _without_greeting(said: tuple[str, ...], code: str) -> tuple[str, ...]:
    for greeting in _greetings(code):
        if said[: len(greeting)] == greeting:
            return said[len(greeting) :]
    return said


@cache
def _by_words(code: str) -> Mapping[tuple[str, ...], str]:
    manners = tables(code)["manners"]
    return {_texts(said): key for key, table in manners.items() for said in table["said"]}


@cache
def _greetings(code: str) -> Sequence[tuple[str, ...]]:
    words = tables(code)["words"]
    greetings = [*map(_texts, words["greet"]), *map(_texts, words["thanks"])]
    return sorted(greetings, key=len, reverse=True)


def _texts(text: str) -> tuple[str, ...]:
    """Return the words of a text, without its marks."""
    return tuple(one.text for one in split(tidy(text), variants()) if one.kind is not UnitKind.MARK)
