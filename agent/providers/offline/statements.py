"""Statements of a message as the verifier reads them, and a word that takes an earlier one back."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from msgspec import Struct

from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.measures import Amount, amounts_of
from agent.providers.offline.pieces import Analysis, Piece
from agent.providers.offline.senses import actions, values
from agent.providers.offline.units import UnitKind

ON, OFF = frozenset({"on", "open", "high"}), frozenset({"off", "closed", "low"})
_SENTENCE_ENDS = frozenset("!?。.;\n")
_ENDS = _SENTENCE_ENDS | frozenset(",、，；")
# Between two orders, nothing but these hesitates: well, ok
_HESITATING = frozenset({"greet", "filler", "yes", "amend"})


class Statement(Struct, frozen=True):
    """Pieces between commas and joins, and what they say."""

    pieces: tuple[Piece, ...]
    amounts: tuple[Amount, ...]
    sentence: int

    @property
    def senses(self) -> frozenset[str]:
        return frozenset(sense for piece in self.pieces for sense in piece.senses)


def statements_of(analysis: Analysis) -> list[Statement]:
    """Return the pieces between commas and joins."""
    found: list[list[Piece]] = [[]]
    sentences = [0]
    verb_final = lexicon(analysis.code).verb_final
    for piece in analysis.pieces:
        senses = set(piece.senses)
        if verb_final and senses == {"amend"} and any(_is_deed(one) for one in found[-1]):
            # Behind a deed that ends its clause: つけて いや やっぱり リレー
            found.append([])
            sentences.append(sentences[-1])
        ends = piece.kind is UnitKind.MARK and piece.text in _ENDS
        joins = bool({"join", "but"} & senses)
        # A verb that joins, such as 켜고, ends its own clause
        after = ends or (joins and bool(senses & actions()))
        if joins and not after:
            found.append([])
            sentences.append(sentences[-1])
        found[-1].append(piece)
        if after:
            found.append([])
            sentences.append(sentences[-1] + (ends and piece.text in _SENTENCE_ENDS))
    return [
        Statement(tuple(one), amounts_of(one, analysis.code), sentence)
        for one, sentence in zip(found, sentences, strict=True)
        if one
    ]


def _is_deed(piece: Piece) -> bool:
    return not actions().isdisjoint(piece.senses)


def taken_back(statements: Sequence[Statement], taken: AbstractSet[int]) -> str | None:
    """Return the word between two orders that puts the second in the place of the first.

    Turn on the pump, sorry, the light: both would be on.

    Args:
        taken: ids of the pieces that say what is ordered.
    """
    for place, statement in enumerate(statements):
        earlier = [one for one in statements[:place] if _orders(one, taken)]
        words = [one for one in statement.pieces if one.kind is not UnitKind.MARK]
        if not words or not earlier:
            continue
        if _excepts(statement, earlier):
            return words[0].text
        if (word := _instead(statements, place, taken)) is not None:
            return word
        later = next((one for one in statements[place:] if _orders(one, taken)), None)
        amending = None if later is None or _goes_on(later) else _amending(words)
        if amending is not None:
            return amending.text
    return None


def _excepts(statement: Statement, earlier: Sequence[Statement]) -> bool:
    """Return true for what is left out of all: all valves but valve 1."""
    said = frozenset().union(*(one.senses for one in earlier))
    begins = "but" in statement.pieces[0].senses and not said.isdisjoint({"all", "both"})
    return begins and statement.senses.isdisjoint(actions() | values())


def _amending(words: Sequence[Piece]) -> Piece | None:
    """Return the word that corrects: at the beginning, or an apology in the middle."""
    if all(one.known and _HESITATING.issuperset(one.senses) for one in words):
        return words[0]
    begins = {"amend"}.issubset(words[0].senses) and "but" not in words[0].senses
    return words[0] if begins else next((one for one in words if "greet" in one.senses), None)


def _instead(statements: Sequence[Statement], place: int, taken: AbstractSet[int]) -> str | None:
    """Return the word for "instead" beside an order without a deed of its own, or of the same."""
    words = [one for one in statements[place].pieces if {"amend", "but"} <= {*one.senses}]
    ordering = [one for one in statements if _orders(one, taken)]
    own = _orders(statements[place], taken)
    beside = statements[place : place + 1] if own else statements[place - 1 : place + 2]
    for before, meant in pairwise(ordering):
        value = _value(meant)
        is_other = value != _value(before) if value else bool(meant.senses & actions())
        if words and meant in beside and not is_other:
            return words[0].text
    return None


def _value(statement: Statement) -> str:
    said = statement.senses
    return "on" if said & ON else "off" if said & OFF else ""


def _orders(statement: Statement, taken: AbstractSet[int]) -> bool:
    return any(id(piece) in taken for piece in statement.pieces)


def _goes_on(statement: Statement) -> bool:
    return "too" in statement.senses or "join" in statement.pieces[0].senses
