"""Numbers with their units, as they are said and as a tool wants them.

A unit of another kind never becomes a number of this one; a time is an argument only where it is
said how long something lasts, not when it begins.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agent.providers.offline.lexicon import concepts, lexicon
from agent.providers.offline.pieces import Piece, analyse

TIME = "time"
# The longest spelling of a unit: degrees celsius, ° c
_MAX_UNIT_PIECES = 3
# How a schema tells its unit: in the description, or at the end of the name
_TOLD = re.compile(r"\bin (\S+?)[.,;)]?(?:\s|\Z)", re.IGNORECASE)
# In a unit's place: a degree may be of an angle or of a temperature
_DEGREES = frozenset({"angle", "temperature"})
# What is left of a number after a conversion, beside rounding errors
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Unit:
    """What is counted, and how much of the plain unit of its kind one of it is."""

    symbol: str
    kind: str
    factor: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that was said; `lasts` where it tells how long, not when."""

    number: float
    unit: Unit | None
    lasts: bool
    # The number and the words of its unit
    pieces: tuple[Piece, ...]


def amounts_of(pieces: Sequence[Piece], code: str) -> tuple[Amount, ...]:
    """The numbers among these pieces, in the order they were said."""
    return tuple(_amounts(pieces, code))


def unit_told(name: str, description: str) -> Unit | None:
    """The unit of an argument, as its schema tells it."""
    told = _TOLD.search(description)
    found = _spelled(told[1]) if told else None
    # In a row is in no amperes: a single letter is a unit as it is written
    if found is not None and told is not None and (len(told[1]) > 1 or told[1] == found.symbol):
        return found
    return _spelled(name.rsplit("_", 1)[-1]) if "_" in name else None


def converted(amount: Amount, wanted: Unit | None) -> float | None:
    """The number in the unit that is wanted; None when it cannot be meant."""
    unit = amount.unit
    if unit is None and wanted is not None and wanted.kind == "share" and _is_half(amount):
        return amount.number * 100
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


def _is_half(amount: Amount) -> bool:
    """A part said as a word."""
    return 0 < amount.number < 1 and not amount.pieces[0].text[0].isdecimal()


def plain(number: float, unit: Unit) -> float:
    """The number in the plain unit of its kind: seconds, volts, degrees Celsius."""
    return number * unit.factor + unit.offset


def told_unit(unit: Unit) -> str:
    """The plain unit of the same kind, which boards tell their readings in."""
    same = (one for one in _units().values() if one.kind == unit.kind)
    return next(one.symbol for one in same if one.factor == 1 and not one.offset)


def _amounts(pieces: Sequence[Piece], code: str) -> Iterator[Amount]:
    for place, piece in enumerate(pieces):
        if piece.number is None:
            continue
        unit, width = _unit_at(pieces, place + 1, code)
        end = place + 1 + width
        sign = -1 if _is_minus(pieces, place) else 1
        around = pieces[max(0, place - 1) : end + 1]
        yield Amount(sign * piece.number, unit, _lasts(around, code), tuple(pieces[place:end]))


def _is_minus(pieces: Sequence[Piece], place: int) -> bool:
    before = pieces[place - 1] if place else None
    return before is not None and before.text in {"-", "−"} and pieces[place].glued


def _lasts(around: Sequence[Piece], code: str) -> bool:
    """For five seconds, and not in five seconds."""
    if any("during" in piece.senses for piece in around):
        return True
    units = _spellings(code)
    beside = [piece for piece in around if (piece.text,) not in units]
    bare = bool(lexicon(code).wording["bare_time_lasts"])
    return bare and not any("later" in piece.senses for piece in beside)


def _unit_at(pieces: Sequence[Piece], start: int, code: str) -> tuple[Unit | None, int]:
    """The unit that is spelled here, by its longest spelling, and how many pieces it takes."""
    for width in range(min(_MAX_UNIT_PIECES, len(pieces) - start), 0, -1):
        spelled = tuple(piece.text for piece in pieces[start : start + width])
        symbol = _spellings(code).get(spelled)
        if symbol is not None:
            return _units()[symbol], width
    return None, 0


def _spelled(spelling: str) -> Unit | None:
    pieces = [piece for piece in analyse(spelling, "en").pieces if piece.text != "_"]
    unit, width = _unit_at(pieces, 0, "en")
    return unit if pieces and width == len(pieces) else None


@cache
def _units() -> Mapping[str, Unit]:
    return {
        symbol: Unit(symbol, kind, float(factor), float(offset[0]) if offset else 0.0)
        for symbol, (kind, factor, *offset) in concepts()["units"].items()
    }


@cache
def _spellings(code: str) -> Mapping[tuple[str, ...], str]:
    """How units are written everywhere, and what they are called in a language."""
    own: Mapping[str, Sequence[str]] = lexicon(code).wording["measures"]
    words = [(word, symbol) for symbol, forms in own.items() for word in forms]
    symbols = [(symbol, symbol) for symbol in _units()]
    return {
        tuple(piece.text for piece in analyse(word, code).pieces): symbol
        for word, symbol in (*symbols, *words)
    }
