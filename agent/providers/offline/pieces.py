"""A text cut into pieces of vocabulary, and into what the vocabulary does not know.

The language's own forms come first; English names of things are known in every language, because
pins and files carry them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.amounts import from_digits
from agent.providers.offline.lexicon import (
    MAX_MEASURE_UNITS,
    FormPlace,
    Lexicon,
    VocabularyForm,
    lexicon,
    variants,
)
from agent.providers.offline.names import NO_NAMES, Named, Names
from agent.providers.offline.numerals import HALF
from agent.providers.offline.senses import actions, lights, marks, values
from agent.providers.offline.units import UNSPACED, Unit, UnitKind, split, tidy

# What may come before a form that only counts at the beginning
_LIGHT = frozenset({"request", "filler", "amend", "greet", "yes", "join", "thanks"})
# What may come after a form that only counts at the end of a clause
_AFTER_END = frozenset({"join", "but", "request", "suppose", "later", "filler", "thanks"})
_SENTENCE_ENDS = frozenset(".!?。\n")
# Endings that the stem of an unknown English word is told by
_ENDINGS = ("'s", "ing", "ed", "es", "s")
# A word of one letter that has only these senses may be a label as well: relay E
_SHORT = frozenset({"stop", "join"})
# What no article stands before
_PARTING = frozenset({"join", "but", "request", "filler", "thanks", "later", "state", "negate"})
# Between a name and a word for its kind
_LINKING = frozenset({"stop"})
_SHORTEST_STEM = 3
_NUMBERED = re.compile(r"([a-z]{2,20})\d{1,4}")


class Piece(Struct, frozen=True):
    """Units that belong together; without senses they are unknown, a number, a path or a mark."""

    kind: UnitKind
    text: str
    senses: tuple[str, ...]
    start: int
    end: int
    glued: bool
    # How many words or unspaced characters
    width: int = 1
    number: float | None = None
    # `FRACTION` or `PERCENT` where the number was said as such
    numeral: str = ""
    # Known only as an English name
    foreign: bool = False

    @property
    def known(self) -> bool:
        return bool(self.senses)


class Analysis(Struct, frozen=True):
    """Text and its pieces by the vocabulary of one language."""

    text: str
    code: str
    pieces: tuple[Piece, ...]


def analyse(text: str, code: str, names: Names = NO_NAMES) -> Analysis:
    """Return the pieces of a text for a speaker of `code` who has these names."""
    text = tidy(text)
    cutter = _Cutter(split(text, variants()), lexicon(code), names)
    pieces = list(cutter.pieces())
    return Analysis(text, code, tuple(_rejoined(pieces, lexicon(code).separable)))


def _rejoined(
    pieces: list[Piece], separable: Mapping[tuple[str, str], tuple[str, ...]]
) -> list[Piece]:
    """Join a verb with its second part at the end of the clause: führe ... aus."""
    if not separable:
        return pieces
    for place, piece in enumerate(pieces):
        ends = [at for at in range(place + 1, len(pieces)) if _ends_clause(pieces, at)]
        senses = separable.get((piece.text, pieces[ends[0]].text)) if ends else None
        if senses is not None:
            pieces[place] = replace(piece, senses=senses)
            pieces[ends[0]] = replace(pieces[ends[0]], senses=("stop",))
    return pieces


def _ends_clause(pieces: Sequence[Piece], place: int) -> bool:
    after = pieces[place + 1] if place + 1 < len(pieces) else None
    return after is None or after.kind is UnitKind.MARK or not _AFTER_END.isdisjoint(after.senses)


def stem(word: str) -> str:
    """Return an unknown word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _is_kind(form: Piece) -> bool:
    return set(form.senses) <= lights()


@cache
def _grammar() -> frozenset[str]:
    return actions() | values() | marks()


class _Cutter:
    """Goes over units once, from the beginning."""

    def __init__(self, units: Sequence[Unit], own: Lexicon, names: Names) -> None:
        self._units = units
        self._own = own
        self._names = names
        # A number came last: what follows may be its unit
        self._counted = False
        self._english = lexicon("en")
        self._only_light = True

    def pieces(self) -> Iterator[Piece]:
        if whole := self._whole():
            yield whole
            return
        position = 0
        while position < len(self._units):
            piece, position = self._next(position)
            self._watch(piece)
            yield piece

    def _whole(self) -> Piece | None:
        spoken = [unit for unit in self._units if unit.kind is not UnitKind.MARK]
        senses = self._own.alone.get(tuple(unit.text for unit in spoken))
        return _piece(spoken, senses) if spoken and senses else None

    def _next(self, position: int) -> tuple[Piece, int]:
        if self._counted and (measure := self._measure(position)):
            return measure
        unit = self._units[position]
        if unit.kind is UnitKind.PATH:
            return _piece([unit]), position + 1
        form = self._form(position)
        width = form.width if form else 0
        found = self._negative(position) or self._named(position, width)
        if found := found or self._number(position, width):
            return found
        if unit.kind in {UnitKind.MARK, UnitKind.NUMBER}:
            is_number = unit.kind is UnitKind.NUMBER
            return self._digits(position) if is_number else (_piece([unit]), position + 1)
        if form is not None:
            return form, position + form.width
        return self._numbered(position) or self._unknown(position)

    def _form(self, position: int) -> Piece | None:
        """Return the longest form here, the language's own before an English one."""
        if self._units[position].kind in {UnitKind.MARK, UnitKind.NUMBER}:
            return None
        for known in (self._own, self._english):
            foreign = known is not self._own
            for form in known.candidates(self._units, position):
                if self._counts(form, position, foreign=foreign):
                    end = position + len(form.units)
                    piece = _piece(self._units[position:end], form.senses)
                    return replace(piece, foreign=foreign)
        return None

    def _measure(self, position: int) -> tuple[Piece, int] | None:
        """Return the longest name of a unit after a number."""
        for width in range(min(MAX_MEASURE_UNITS, len(self._units) - position), 0, -1):
            units = self._units[position : position + width]
            if tuple(unit.text for unit in units) in self._own.measures:
                form = self._form(position)
                senses = form.senses if form is not None and form.width == width else ()
                return _piece(units, senses), position + width
        return None

    def _named(self, position: int, width: int) -> tuple[Piece, int] | None:
        """Return an own name, at least as long as what the vocabulary has here."""
        form = self._form(position)
        start = position
        if form is not None and self._names and _is_kind(form):
            start = self._after_kind(position + form.width)
        found = self._name_at(start) if start < len(self._units) else None
        if start > position and (found is None or not found.may_light):
            found = self._name_at(position)
        if found is None or found.end - position < width:
            return None
        if found.may_light:
            found = replace(found, end=self._past_kind(found.end))
        whole = form is not None and form.width == found.end - position
        told = form.senses if form is not None and whole else ()
        senses = (*found.senses, *(sense for sense in told if sense not in _grammar()))
        return _piece(self._units[position : found.end], senses), found.end

    def _name_at(self, position: int) -> Named | None:
        """Return an own name here, also one whose number is said as a word: valve two."""
        if not self._names:
            return None
        return self._names.at(self._units, position) or self._names.at(self._as_digits, position)

    @cached_property
    def _as_digits(self) -> Sequence[Unit]:
        return [self._as_digit(place, unit) for place, unit in enumerate(self._units)]

    def _as_digit(self, place: int, unit: Unit) -> Unit:
        # One that is a word of its own too is no number of a thing: one, ein
        found = self._own.numerals.read(self._units, place)
        if found is None or found.kind or found.value is None or found.value % 1:
            return unit
        is_word = found.end != place + 1 or bool(self._own.candidates(self._units, place))
        return unit if is_word else replace(unit, text=str(int(found.value)))

    def _after_kind(self, position: int) -> int:
        """Return the place where a name may begin behind its kind: the light of the ..."""
        while position < len(self._units):
            form = self._form(position)
            if form is None or set(form.senses) - _LINKING:
                return position
            position += form.width
        return position

    def _past_kind(self, end: int) -> int:
        """Return the end of a name with the word for its kind, as in "the play corner lights"."""
        after = self._after_kind(end) if end < len(self._units) else end
        form = self._form(after) if after < len(self._units) and after - end <= 1 else None
        return after + form.width if form is not None and _is_kind(form) else end

    def _counts(self, form: VocabularyForm, position: int, *, foreign: bool) -> bool:
        if foreign:
            # Little words of another language mean something else in this one
            return form.place is FormPlace.ANYWHERE and not marks().issuperset(form.senses)
        if self._is_label(form, position):
            return False
        if form.place is FormPlace.START:
            return self._only_light
        if form.place is FormPlace.NUMBER:
            return self._is_number(position + len(form.units))
        return form.place is not FormPlace.END or self._ends(position + len(form.units))

    def _is_number(self, position: int) -> bool:
        if position >= len(self._units):
            return False
        is_digits = self._units[position].kind is UnitKind.NUMBER
        return is_digits or self._own.numerals.read(self._units, position) is not None

    def _is_label(self, form: VocabularyForm, position: int) -> bool:
        """Return true if one letter is part of a name, not an article: relay E off."""
        is_letter = len(form.units) == 1 and len(form.units[0]) == 1
        unit = self._units[position]
        if not is_letter or unit.kind is not UnitKind.WORD or not _SHORT.issuperset(form.senses):
            return False
        after = position + 1
        while after < len(self._units) and self._units[after].kind is not UnitKind.MARK:
            forms = self._own.candidates(self._units, after)
            if not forms:
                return False
            senses = forms[0].senses
            if "join" in form.senses:
                return "join" in senses or forms[0].place is FormPlace.END
            if set(senses) != {"stop"}:
                return not _PARTING.union(actions(), values()).isdisjoint(senses)
            after += len(forms[0].units)
        return "join" not in form.senses

    def _ends(self, position: int) -> bool:
        if position >= len(self._units) or self._units[position].kind is UnitKind.MARK:
            return True
        after = self._own.candidates(self._units, position)
        if not after or not _AFTER_END.isdisjoint(after[0].senses):
            return bool(after)
        # Two of them say both: an aus
        is_end = after[0].place is FormPlace.END
        return is_end and self._ends(position + len(after[0].units))

    def _number(self, position: int, width: int) -> tuple[Piece, int] | None:
        """Return a spoken number, longer than the vocabulary's form or with a unit after it."""
        found = self._own.numerals.read(self._units, position)
        if found is None or found.end - position < width:
            return None
        tied = found.end - position == width
        if tied and (found.end >= len(self._units) or not self._measure(found.end)):
            return None
        piece = _piece(self._units[position : found.end], number=found.value)
        # Number words that make no number are a number all the same, of which nothing is known
        return replace(piece, kind=UnitKind.NUMBER, numeral=found.kind), found.end

    def _digits(self, position: int) -> tuple[Piece, int]:
        unit = self._units[position]
        number = from_digits(unit.text, self._own.wording["decimal"])
        end = self._own.numerals.past_half(self._units, position + 1)
        if end == position + 1 or number is None or number % 1:
            return _piece([unit], number=number), position + 1
        # 21 einhalb: the half alone would be a part of a whole
        piece = _piece(self._units[position:end], number=number + HALF)
        return replace(piece, kind=UnitKind.NUMBER), end

    def _negative(self, position: int) -> tuple[Piece, int] | None:
        """Return a number with the word that puts it below zero; at the beginning it is less."""
        start = self._own.numerals.past_minus(self._units, position)
        if not position or start == position or start >= len(self._units):
            return None
        is_digits = self._units[start].kind is UnitKind.NUMBER
        found = self._digits(start) if is_digits else self._number(start, 0)
        if found is None:
            return None
        said, end = found
        number = None if said.number is None else -said.number
        piece = _piece(self._units[position:end])
        return replace(piece, kind=UnitKind.NUMBER, number=number, numeral=said.numeral), end

    def _numbered(self, position: int) -> tuple[Piece, int] | None:
        """Return a known name with a number in one word, such as `led2`; also a name of its own."""
        match = _NUMBERED.fullmatch(self._units[position].text)
        senses = match and (self._name(self._own, match[1]) or self._name(self._english, match[1]))
        if not senses:
            return None
        unit = self._units[position]
        return _piece([unit], (*senses, f"~{unit.text}")), position + 1

    def _name(self, known: Lexicon, word: str) -> tuple[str, ...]:
        forms = known.forms.get(word, ())
        named = [form.senses for form in forms if form.units == (word,)]
        return next((senses for senses in named if marks().isdisjoint(senses)), ())

    def _unknown(self, position: int) -> tuple[Piece, int]:
        first = self._units[position]
        end = position + 1
        if first.kind in UNSPACED:
            while end < len(self._units) and self._belongs(first, end):
                end += 1
        return _piece(self._units[position:end]), end

    def _belongs(self, first: Unit, position: int) -> bool:
        unit = self._units[position]
        if unit.kind is not first.kind or not unit.glued:
            return False
        return not self._own.candidates(self._units, position)

    def _watch(self, piece: Piece) -> None:
        self._counted = piece.kind is UnitKind.NUMBER
        if piece.kind is UnitKind.MARK:
            self._only_light = self._only_light or piece.text in _SENTENCE_ENDS
        elif not piece.known or not _LIGHT.issuperset(piece.senses):
            self._only_light = False


def _piece(
    units: Sequence[Unit], senses: tuple[str, ...] | None = None, number: float | None = None
) -> Piece:
    first = units[0]
    return Piece(
        kind=UnitKind.NUMBER if number is not None else first.kind,
        text=(" " if first.kind is UnitKind.WORD else "").join(unit.text for unit in units),
        senses=senses or (),
        start=first.start,
        end=units[-1].end,
        glued=first.glued,
        width=len(units),
        number=number,
    )
