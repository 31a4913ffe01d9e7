"""Numbers with their units, as they are said and as a tool wants them.

A unit of another kind never becomes a number of this one; a time is an argument only where it is
said how long something lasts, not when it begins.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from agent.providers.offline.lexicon import concepts, lexicon, variants
from agent.providers.offline.numerals import FRACTION, PERCENT
from agent.providers.offline.pieces import Piece
from agent.providers.offline.units import split, tidy

TIME = "time"
# Words beside numbers are few
_REMEMBERED_SPELLINGS = 512
# How a schema tells its unit: in the description, or at the end of the name
_TOLD = re.compile(r"\bin (\S+?)[.,;)]?(?:\s|\Z)", re.IGNORECASE)
# In a unit's place: a degree may be of an angle or of a temperature
_DEGREES = frozenset({"angle", "temperature"})
_MINUS = frozenset({"-", "−", "–"})
# A stroke at the beginning of what is said is that of a list
_MARKED = 2
# What is left of a number after a conversion, beside rounding errors
_DIGITS = 6


class MeasureUnit(Struct, frozen=True):
    """Unit of measure, and its size in the plain unit of its kind."""

    symbol: str
    kind: str
    factor: float
    offset: float = 0.0


class Amount(Struct, frozen=True):
    """Number that was said; `lasts` if it is a duration, not a moment."""

    number: float
    unit: MeasureUnit | None
    lasts: bool
    # The number and the words of its unit
    pieces: tuple[Piece, ...]

    @property
    def is_part(self) -> bool:
        """Return true for a part of the whole, said as a word: half, full."""
        return self.pieces[0].numeral == FRACTION


def amounts_of(pieces: Sequence[Piece], code: str) -> tuple[Amount, ...]:
    """Return the numbers among these pieces, in the order they were said."""
    return tuple(_amounts(pieces, code))


def unit_told(name: str, description: str) -> MeasureUnit | None:
    """Return the unit of an argument, as its schema tells it."""
    told = _TOLD.search(description)
    found = _spelled(told[1]) if told else None
    # In a row is in no amperes: a single letter is a unit as it is written
    if found is not None and told is not None and (len(told[1]) > 1 or told[1] == found.symbol):
        return found
    return _spelled(name.rsplit("_", 1)[-1]) if "_" in name else None


def converted(amount: Amount, wanted: MeasureUnit | None) -> float | None:
    """Return the number in the unit that is wanted; None if it cannot be meant."""
    unit = amount.unit
    if amount.is_part:
        share = wanted is not None and wanted.kind == "share" and unit is None
        return round(amount.number * 100, 1) if share else None
    if unit is None:
        # Two may be seconds or milliseconds: only who said it knows
        return None if wanted is not None and wanted.kind == TIME else amount.number
    if unit.kind == TIME and not amount.lasts:
        return None
    if wanted is None:
        return None if unit.kind == TIME else amount.number
    if unit.kind != wanted.kind:
        degrees = unit.symbol == "°" and wanted.kind in _DEGREES
        return amount.number if degrees else None
    return round((plain(amount.number, unit) - wanted.offset) / wanted.factor, _DIGITS)


def plain(number: float, unit: MeasureUnit) -> float:
    """Return the number in the plain unit of its kind: seconds, volts, degrees Celsius."""
    return number * unit.factor + unit.offset


def told_unit(unit: MeasureUnit) -> str:
    """Return the plain unit of the same kind, which boards tell their readings in."""
    same = (one for one in _units().values() if one.kind == unit.kind)
    return next(one.symbol for one in same if one.factor == 1 and not one.offset)


def _amounts(pieces: Sequence[Piece], code: str) -> Iterator[Amount]:
    for place, piece in enumerate(pieces):
        if piece.number is None or _is_apart(pieces, place):
            continue
        unit, width = _unit_at(pieces, place + 1, code)
        end = place + 1 + width
        sign = -1 if _is_minus(pieces, place) else 1
        around = pieces[max(0, place - 1) : end + 1]
        yield Amount(sign * piece.number, unit, _lasts(around, code), tuple(pieces[place:end]))


def _is_minus(pieces: Sequence[Piece], place: int) -> bool:
    before = pieces[place - 1] if place else None
    return before is not None and before.text in _MINUS and pieces[place].glued


def _is_apart(pieces: Sequence[Piece], place: int) -> bool:
    """Return true behind a stroke with room on both sides: "to - 5" is below zero or is not."""
    if place < _MARKED or pieces[place - 1].text not in _MINUS:
        return False
    return not (pieces[place - 1].glued or pieces[place].glued)


def _lasts(around: Sequence[Piece], code: str) -> bool:
    """Return true for a duration: "for five seconds", not "in five seconds"."""
    if any("during" in piece.senses for piece in around):
        return True
    beside = [piece for piece in around if _symbol(piece.text, code) is None]
    bare = bool(lexicon(code).wording["bare_time_lasts"])
    return bare and not any("later" in piece.senses for piece in beside)


def _unit_at(pieces: Sequence[Piece], start: int, code: str) -> tuple[MeasureUnit | None, int]:
    """Return the unit that this piece spells, and the number of pieces that it takes."""
    if pieces[start - 1].numeral == PERCENT:
        return _units()["%"], 0
    symbol = _symbol(pieces[start].text, code) if start < len(pieces) else None
    return (None, 0) if symbol is None else (_units()[symbol], 1)


def _spelled(spelling: str) -> MeasureUnit | None:
    symbol = _symbol(spelling, "en")
    return None if symbol is None else _units()[symbol]


@lru_cache(_REMEMBERED_SPELLINGS)
def _symbol(spelling: str, code: str) -> str | None:
    texts = tuple(unit.text for unit in split(tidy(spelling), variants()))
    return lexicon(code).measures.get(texts)


@cache
def _units() -> Mapping[str, MeasureUnit]:
    return {
        symbol: MeasureUnit(symbol, kind, float(factor), float(offset[0]) if offset else 0.0)
        for symbol, (kind, factor, *offset) in concepts()["units"].items()
    }
