"""Vocabulary of one language: its forms, longest first, their senses, and its answers.

Read from the TOML files beside this module, and kept for the languages that are spoken here: all
ten would take nine megabytes. A sense is an English word that all languages share; `senses.py`
knows which of them are things, actions, values or marks.
"""

import enum
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from msgspec import Struct

from agent.providers.offline.numerals import Numerals
from agent.providers.offline.units import Unit, UnitKind, split

# The longest spelling of a unit in any language
MAX_MEASURE_UNITS = 6
_CONCEPTS = "concepts"
# Tables of dialects; each widens the table of its language that has the same name
_DIALECTS = "dialects"


def _codes() -> tuple[str, ...]:
    """Return English, then every other language that has a file."""
    folder = resources.files("agent.providers.offline") / "vocabulary"
    names = (file.name.removesuffix(".toml") for file in folder.iterdir())
    others = sorted(name for name in names if name not in {"en", _CONCEPTS} and name.isalpha())
    return ("en", *others)


LANGUAGES = _codes()

_Forms = Mapping[str, Sequence[str]]


class FormPlace(enum.Enum):
    """Place in a clause where a form has its meaning."""

    ANYWHERE = "words"
    # Only before everything that carries weight
    START = "at_start"
    # Only where a number comes next
    NUMBER = "before_number"
    # Only as the last of a clause, such as the `an` of a German verb
    END = "at_end"
    # Only as the whole of what is said
    ALONE = "alone"


# Tables of forms; those of one subject stand together and may name what another names too
_TABLES = (
    ("words", FormPlace.ANYWHERE),
    ("acts", FormPlace.ANYWHERE),
    ("times", FormPlace.ANYWHERE),
    ("talk", FormPlace.ANYWHERE),
    ("at_start", FormPlace.START),
    ("acts_at_start", FormPlace.START),
    ("times_at_start", FormPlace.START),
    ("before_number", FormPlace.NUMBER),
    ("at_end", FormPlace.END),
    ("acts_at_end", FormPlace.END),
)


class VocabularyForm(Struct, frozen=True):
    """Words for some senses; a suffix may follow a Korean syllable without a space."""

    units: tuple[str, ...]
    senses: tuple[str, ...]
    place: FormPlace
    suffix: bool


class Likeness(Struct, frozen=True):
    """A sentence that is compared by embeddings, and the plain one it stands for."""

    say: str
    means: str
    # It says how things are, and orders nothing
    hint: bool


class Lexicon(Struct, frozen=True):
    """One language."""

    code: str
    verb_final: bool
    letters: frozenset[str]
    forms: Mapping[str, tuple[VocabularyForm, ...]]
    alone: Mapping[tuple[str, ...], tuple[str, ...]]
    numerals: Numerals
    # What units are called and how they are written, by their texts
    measures: Mapping[tuple[str, ...], str]
    likenesses: tuple[Likeness, ...]
    # Verbs in two parts, and what both together mean
    separable: Mapping[tuple[str, str], tuple[str, ...]]
    # Tables of the answers' wording, as they stand in the file
    wording: Mapping[str, Any]

    def candidates(self, units: Sequence[Unit], position: int) -> list[VocabularyForm]:
        """Return the forms that are spelled here, longest first, for any place in a clause."""
        forms = self.forms.get(units[position].text, ())
        return [form for form in forms if _spelled(form, units, position)]


@cache
def variants() -> Mapping[str, str]:
    """Return the simplified character of each traditional one, as in the vocabulary."""
    return {pair[0]: pair[1] for pair in _pairs() if pair[0] != pair[1]}


@cache
def traditional() -> Mapping[int, str]:
    """Return the traditional character of each simplified one; the first pair counts."""
    table: dict[int, str] = {}
    for pair in _pairs():
        table.setdefault(ord(pair[1]), pair[0])
    return table


@cache
def folded(word: str) -> str:
    """Return the word as the units of a sentence are spelled, without marks."""
    units = split(word, variants())
    spaced = any(unit.kind is UnitKind.WORD for unit in units)
    return (" " if spaced else "").join(
        unit.text for unit in units if unit.kind is not UnitKind.MARK
    )


@cache
def lexicon(code: str) -> Lexicon:
    """Return the vocabulary of a language of `LANGUAGES`."""
    data = tables(code)
    forms: dict[str, list[VocabularyForm]] = {}
    for form in _merged(data):
        forms.setdefault(form.units[0], []).append(form)
    return Lexicon(
        code=code,
        verb_final=data["verb_final"],
        letters=frozenset(data["letters"]),
        forms={first: tuple(sorted(same, key=_length)) for first, same in forms.items()},
        alone={form.units: form.senses for form in _forms(data.get("alone", {}), FormPlace.ALONE)},
        numerals=Numerals(data, folded),
        measures=_measures(data),
        separable=dict(_separable(data.get("separable", {}))),
        likenesses=tuple(_likenesses(data.get("like", ()))),
        wording=data,
    )


def every_form(code: str) -> list[VocabularyForm]:
    """Return the forms of a language that need not stay in memory."""
    return _merged(tables(code))


@cache
def concepts() -> Mapping[str, Any]:
    """Return the tables that all languages share."""
    return tables(_CONCEPTS)


def standard(code: str) -> Mapping[str, Any]:
    """Return the tables of a language without its dialects."""
    return {key: table for key, table in _file(code).items() if key != _DIALECTS}


def dialects(code: str) -> tuple[Mapping[str, Any], ...]:
    """Return the tables of each dialect of a language."""
    return tuple(_file(code).get(_DIALECTS, {}).values())


def tables(name: str) -> dict[str, Any]:
    """Return the tables of a language with the words of its dialects, read anew."""
    data = dict(standard(name))
    for dialect in dialects(name):
        data = _widened(data, dialect)
    return data


# The one that was read last: its parts are asked for one after another
@lru_cache(1)
def _file(name: str) -> dict[str, Any]:
    file = resources.files("agent.providers.offline") / "vocabulary" / f"{name}.toml"
    return tomllib.loads(file.read_text("utf-8"))


def _widened(table: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with what a dialect adds; where both say something, the language counts."""
    result = dict(table)
    for key, value in more.items():
        if isinstance(value, Mapping):
            result[key] = _widened(result.get(key, {}), value)
        elif isinstance(value, list):
            result[key] = [*result.get(key, ()), *value]
        else:
            result.setdefault(key, value)
    return result


def _pairs() -> list[str]:
    table = standard("zh")
    pairs: str = f"{table['traditional']} {table['timing']['traditional']}"
    return pairs.split()


def _forms(table: _Forms, place: FormPlace) -> list[VocabularyForm]:
    return [
        VocabularyForm(_texts(form.removeprefix("-")), meant, place, form.startswith("-"))
        for meant, spellings in ((_meant(*senses.split()), said) for senses, said in table.items())
        for form in spellings
    ]


@cache
def _meant(*senses: str) -> tuple[str, ...]:
    """Return the senses, one tuple for all forms that have the same."""
    return senses


def _separable(table: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    for parts, senses in table.items():
        first, last = _texts(parts)
        yield (first, last), tuple(senses.split())


def _likenesses(entries: Sequence[Mapping[str, Any]]) -> Iterator[Likeness]:
    for entry in entries:
        for key in ("say", "hint"):
            for sentence in entry.get(key, ()):
                yield Likeness(sentence, entry["means"], key == "hint")


def _merged(data: Mapping[str, Any]) -> list[VocabularyForm]:
    """Return all forms; one that stands in several tables has the senses of them all."""
    senses: dict[tuple[tuple[str, ...], FormPlace, bool], tuple[str, ...]] = {}
    for table, place in _TABLES:
        for form in _forms(data.get(table, {}), place):
            key = (form.units, place, form.suffix)
            # A verb at the beginning is no thing: lock the door
            anywhere = senses.get((form.units, FormPlace.ANYWHERE, form.suffix), ())
            anywhere = () if table in {"acts_at_start", "before_number"} else anywhere
            known = senses.get(key, anywhere)
            senses[key] = _meant(*dict.fromkeys((*known, *form.senses)))
    return [
        VocabularyForm(units, meant, place, suffix)
        for (units, place, suffix), meant in senses.items()
    ]


def _measures(data: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Return the symbols of units, and their names in a language."""
    written = [(symbol, symbol) for symbol in concepts()["units"]]
    called = [(word, symbol) for symbol, words in data["measures"].items() for word in words]
    return {_texts(word): symbol for word, symbol in (*written, *called)}


def _texts(form: str) -> tuple[str, ...]:
    # Several tables of a language name the same words
    return tuple(sys.intern(unit.text) for unit in split(form, variants()))


def _length(form: VocabularyForm) -> tuple[int, bool, bool]:
    # Of the same length, the form that is bound to a place is the one that is meant there
    return -len(form.units), form.place is FormPlace.ANYWHERE, form.suffix


def _spelled(form: VocabularyForm, units: Sequence[Unit], position: int) -> bool:
    end = position + len(form.units)
    window = units[position:end]
    if tuple(unit.text for unit in window) != form.units:
        return False
    first = window[0]
    if first.kind is UnitKind.HANGUL:
        return form.suffix or not _continues(units, position, UnitKind.HANGUL)
    if _is_katakana(first) and all(_is_katakana(unit) for unit in window):
        # A word inside a longer foreign word is another word
        before = position > 0 and _is_katakana(units[position - 1])
        return not before and not (end < len(units) and _is_katakana(units[end]))
    return True


def _continues(units: Sequence[Unit], position: int, kind: UnitKind) -> bool:
    return position > 0 and units[position].glued and units[position - 1].kind is kind


def _is_katakana(unit: Unit) -> bool:
    return unit.kind is UnitKind.KANA and unit.text >= "\u30a1"
