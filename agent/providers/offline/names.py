"""Names of the owner's own things in text: pins, their other names, their places and groups.

They come before the vocabulary: a pin called "open door" is one, whatever "open" means. The last
word of a name may have an ending.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from agent.providers.offline.units import UNSPACED, Unit, UnitKind

# A board with 32 pins, each with eight names
_MAX_CHARS = 16_000
_ENTRY = re.compile(r"(?:^|,)([^(),]{1,60})\(([^()]{1,600})\)")


class Facts(Struct, frozen=True):
    """Facts of one choice.

    Args:
        opens: the value at which it is open, where it is not "on".
        safe: the value that it has while nobody holds it, where it is not "off".
    """

    aliases: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    opens: str = "on"
    safe: str = "off"


NO_FACTS = Facts()


def facts_in(description: str) -> Mapping[str, Facts]:
    """Return the facts of each choice in a description."""
    return {name.strip(): _facts(told) for name, told in _ENTRY.findall(description[:_MAX_CHARS])}


def _facts(told: str) -> Facts:
    aliases, *further = told.split(";")
    by_word: dict[str, list[str]] = {}
    for part in further:
        word, _, rest = part.strip().partition(" ")
        by_word.setdefault(word, []).append(rest.strip())
    return Facts(
        aliases=_listed([aliases]),
        places=_listed(by_word.get("in", [])),
        groups=_listed(by_word.get("of", [])),
        opens=by_word.get("opens", ["on"])[-1],
        safe=by_word.get("rests", ["off"])[-1],
    )


def _listed(texts: list[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


# Senses that names have in a sentence: a thing, and a place
THING, PLACE = "@", "in:"
# What is said of several things at once
GROUP = "all"
# Of a name that says that it is something else: "front door" with "light" is another thing
NO_LIGHT = "no light"
# Of plurals and of cases, in the languages that have them
_ENDINGS = ("", "s", "es", "n", "en", "e", "er", "'s")
_SHORTEST_INFLECTED = 3


class Named(Struct, frozen=True):
    """A name that was found: where it ends, and the senses that it has."""

    end: int
    senses: tuple[str, ...]
    # What is called so may be a light: its name says of no other kind that it is one
    may_light: bool = True


class Names:
    """All names of a request's tools, by the unit that they begin with."""

    def __init__(self, names: Mapping[tuple[str, ...], Iterable[str]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
        for texts, senses in names.items():
            entry = (texts, tuple(sorted(senses)))
            for first in _first_forms(texts):
                self._by_first.setdefault(first, []).append(entry)
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def at(self, units: Sequence[Unit], position: int) -> Named | None:
        """Return the longest name that begins at this unit."""
        for texts, senses in self._by_first.get(units[position].text, ()):
            end = position + len(texts)
            if _spelled(texts, units[position:end]) and _stands_alone(units, position, end):
                told = tuple(one for one in senses if one != NO_LIGHT)
                return Named(end, told, NO_LIGHT not in senses)
        return None


NO_NAMES = Names({})


def _first_forms(texts: tuple[str, ...]) -> Iterable[str]:
    """Return the spellings of a name's first unit: with endings if it is also the last."""
    if len(texts) > 1 or len(texts[0]) < _SHORTEST_INFLECTED:
        return (texts[0],)
    return (f"{texts[0]}{ending}" for ending in _ENDINGS)


def _spelled(texts: tuple[str, ...], units: Sequence[Unit]) -> bool:
    if len(units) < len(texts):
        return False
    *before, last = (unit.text for unit in units)
    if tuple(before) != texts[:-1] or not last.startswith(texts[-1]):
        return False
    inflected = units[-1].kind is UnitKind.WORD and len(texts[-1]) >= _SHORTEST_INFLECTED
    return last.removeprefix(texts[-1]) in (_ENDINGS if inflected else ("",))


def _stands_alone(units: Sequence[Unit], start: int, end: int) -> bool:
    """Return true if a name is no part of a longer foreign word, in scripts without spaces."""
    first, last = units[start], units[end - 1]
    if first.kind is UnitKind.HANGUL:
        before = units[start - 1] if start else None
        return before is None or before.kind is not UnitKind.HANGUL or not first.glued
    if first.kind not in UNSPACED:
        return True
    before = units[start - 1] if start else None
    after = units[end] if end < len(units) else None
    return not (_is_one_word(before, first) or _is_one_word(last, after))


def _is_one_word(left: Unit | None, right: Unit | None) -> bool:
    return (
        left is not None
        and right is not None
        and _is_katakana(left.text)
        and _is_katakana(right.text)
    )


def _is_katakana(text: str) -> bool:
    return "\u30a1" <= text[0] <= "\u30ff"
