"""Words of time in one language, and the search for its forms in a text.

The tables are those under `[timing]` in the language's vocabulary file. A form may have several
tags; the longest one that is spelled at a place counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from agent.providers.offline.lexicon import lexicon, variants
from agent.providers.offline.units import Unit, UnitKind, split

# How long the units of time are
UNIT_S: Mapping[str, float] = {"d": 86_400.0, "h": 3600.0, "min": 60.0, "s": 1.0}
_SPAN_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
# Senses of the vocabulary that say nothing: articles, politeness, whose it is
_LIGHT_SENSES = frozenset(
    {"stop", "filler", "amend", "request", "mine", "greet", "thanks", "yes", "way"}
)
LIGHT = "light"
_MONTHS, _OTHER_DAYS = "months", "other_days"
# Lists that are looked for by themselves
_APART = frozenset({"joins", _MONTHS, _OTHER_DAYS})

Words = tuple[str, ...]


class FoundForm(Struct, frozen=True):
    """Form that is spelled at a place, its meaning and its end."""

    values: tuple[str, ...]
    end: int


class Forms:
    """Spellings, each with its meaning."""

    def __init__(self, spelled: Mapping[Words, Sequence[str]]) -> None:
        self._by_first: dict[str, list[tuple[Words, tuple[str, ...]]]] = {}
        for words, values in spelled.items():
            self._by_first.setdefault(words[0], []).append((words, tuple(values)))
        for same in self._by_first.values():
            same.sort(key=lambda one: -len(one[0]))

    def at(self, units: Sequence[Unit], position: int) -> FoundForm | None:
        """Return the longest form here."""
        if position >= len(units):
            return None
        for words, values in self._by_first.get(units[position].text, ()):
            end = position + len(words)
            if all(
                unit.text == word for unit, word in zip(units[position:end], words, strict=False)
            ) and end <= len(units):
                return FoundForm(values, end)
        return None


class TimeVocabulary(Struct, frozen=True):
    """Vocabulary of times in one language."""

    code: str
    tags: Forms
    units: Forms
    spans: Forms
    spoken: Forms
    ordinals: Forms
    days: Forms
    dayparts: Forms
    every_day: Forms
    # Beside a time both are more of it: months with a number, and what makes it another week's
    months: Forms
    other_days: Forms
    # Little words by what they do: joins, articles, half_after, hour_mark
    marks: Forms
    # What joins the parts of a duration
    joins: Forms
    # Forms of the timer itself, by their letters, for words that end in one
    nouns: tuple[str, ...]


@cache
def time_vocabulary(code: str) -> TimeVocabulary:
    """Return the words of time of a language of `LANGUAGES`."""
    table = lexicon(code).wording["timing"]
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    tags: dict[str, Sequence[str]] = dict(table["tags"])
    nouns = [*tags["timer"], *tags["timers"]]
    return TimeVocabulary(
        code,
        tags=_forms(tags, _light(code)),
        units=_forms(table["units"]),
        spans=_forms(table["spans"]),
        spoken=_forms(table["spoken"]),
        ordinals=_forms(table["ordinals"]),
        days=_forms(table["days"]),
        dayparts=_forms(table["dayparts"]),
        every_day=_forms(table.get("every_day", {})),
        months=_forms({_MONTHS: lists[_MONTHS]}),
        other_days=_forms({_OTHER_DAYS: lists[_OTHER_DAYS]}),
        marks=_forms({key: forms for key, forms in lists.items() if key not in _APART}),
        joins=_forms({"joins": lists["joins"]}),
        nouns=tuple("".join(words) for form in nouns if len(words := _words(form)) == 1),
    )


def units_of(text: str) -> tuple[Unit, ...]:
    """Return the units of a text, without the hyphens inside its words."""
    units = split(text, variants())
    return tuple(
        unit
        for place, unit in enumerate(units)
        if not (unit.text in _HYPHENS and 0 < place < len(units) - 1 and unit.glued)
    )


_HYPHENS = frozenset({"-", "‐", "‑"})


def span_s(told: str) -> float:
    """Return the seconds of a fixed span of the tables, such as 15m."""
    return int(told[:-1]) * _SPAN_UNITS[told[-1]]


def _light(code: str) -> Iterator[Words]:
    """Yield the filler words of the language's vocabulary."""
    own = lexicon(code)
    for same in own.forms.values():
        for form in same:
            if _LIGHT_SENSES.issuperset(form.senses):
                yield form.units


def _forms(table: Mapping[str, Sequence[str]], light: Iterable[Words] = ()) -> Forms:
    spelled: dict[Words, list[str]] = {}
    for value, forms in table.items():
        for form in forms:
            spelled.setdefault(_words(form), []).append(value)
    for words in light:
        spelled.setdefault(words, [LIGHT])
    return Forms({words: values for words, values in spelled.items() if words})


def _words(form: str) -> Words:
    return tuple(unit.text for unit in units_of(form))


def continues(units: Sequence[Unit], position: int, kind: UnitKind) -> bool:
    """Return true if the unit belongs to the same run of characters as the one before it."""
    if position <= 0 or position >= len(units) or not units[position].glued:
        return False
    return units[position].kind is kind and units[position - 1].kind is kind
