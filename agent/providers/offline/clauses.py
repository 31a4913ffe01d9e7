"""Clauses of a message, and how each is meant: asked, ordered, denied, supposed.

A condition, a time or a question mark colours its whole sentence, in whatever clause it stands; a
denial its own clause, and makes the others of its sentence doubtful.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.measures import Amount, amounts_of
from agent.providers.offline.pieces import Analysis, Piece, stem
from agent.providers.offline.senses import actions, marks, quantities, things, values
from agent.providers.offline.units import UnitKind

_SENTENCE_ENDS = frozenset("!?。;\n")
_CLAUSE_ENDS = frozenset(",、")
_OPENING = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", '"': '"'}
# Meant for the whole sentence, before and after the clause they stand in
_COLOURS = frozenset({"suppose", "later", "past", "report", "request", "question", "watch"})


# How much more or less something is to be
RELATIVE = frozenset({"more", "less"})
# An order is short: in what is longer, some of which is not even looked at, it is doubtful
MAX_ORDER_CHARS = 400


class Clause(Struct, frozen=True):
    """Pieces that make one statement, with the marks of the sentence around them.

    Args:
        sentence: the number of its sentence in the message.
        doubted: another clause of the sentence is denied, or was not understood.
        code: the language it is in.
        put_off: another clause of the sentence says when.
    """

    pieces: tuple[Piece, ...]
    colours: frozenset[str]
    sentence: int = 0
    doubted: bool = False
    code: str = "en"
    put_off: bool = False

    @property
    def senses(self) -> frozenset[str]:
        return frozenset(sense for piece in self.pieces for sense in piece.senses)

    @property
    def marks(self) -> frozenset[str]:
        found = (self.senses & marks()) | self.colours
        if "done" in found and not found & {"object", "request"}:
            return found | {"state"}
        return found

    @property
    def actions(self) -> frozenset[str]:
        return self.senses & actions()

    @property
    def values(self) -> frozenset[str]:
        return self.senses & values()

    @property
    def things(self) -> frozenset[str]:
        """Return known things, and unknown words as `~stem`; a word and a number also as one."""
        return things(self.senses) | frozenset(
            (*self.joined_names, *(f"~{stem(piece.text)}" for piece in self.unknown))
        )

    @property
    def unknown(self) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces if _is_unknown(piece))

    @property
    def numbers(self) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces if piece.number is not None)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(piece.text for piece in self.pieces if piece.kind is UnitKind.PATH)

    @property
    def spelling(self) -> str:
        """Return the pieces as one line, each between spaces."""
        return f" {' '.join(piece.text for piece in self.pieces)} "

    @property
    def weighs(self) -> bool:
        """Return true if the clause says something, however it is meant."""
        return bool(self.actions or self.values or self.things or self.numbers or self.paths)

    @property
    def joined_names(self) -> tuple[str, ...]:
        """Return words with the number that follows them, as in `heater 1`."""
        return tuple(
            f"~{piece.text}{after.text}"
            for piece, after in pairwise(self.pieces)
            if after.number is not None and piece.kind is UnitKind.WORD and _is_nameable(piece)
        )

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Return the numbers with their units."""
        return amounts_of(self.pieces, self.code)

    @property
    def aims(self) -> bool:
        """Return true if a number is where something ends: raise it to 50, not by 50."""
        verb_final = lexicon(self.code).verb_final
        return any(aims(amount, self.pieces, verb_final=verb_final) for amount in self.amounts)

    @property
    def is_far_or_there(self) -> bool:
        """Return true if a number may be how far something goes, or where it ends."""
        verb_final = lexicon(self.code).verb_final
        pieces = [one for one in self.pieces if not {"aim", "step"} <= {*one.senses}]
        return not all(
            is_step(amount, self.pieces) or aims(amount, pieces, verb_final=verb_final)
            for amount in self.amounts
        )

    @property
    def measures(self) -> tuple[Piece, ...]:
        """Return the pieces that follow a number: its unit."""
        units = [piece for amount in self.amounts for piece in amount.pieces[1:]]
        after = [after for piece, after in pairwise(self.pieces) if piece.number is not None]
        return tuple(dict.fromkeys((*units, *after)))


def aims(amount: Amount, pieces: Sequence[Piece], *, verb_final: bool) -> bool:
    """Return true if a word before the number says that a level ends there: raise it to 50.

    Where the verb is final, the word is behind the unit. Elsewhere one behind it goes on: raise it
    10 % to save the plants.
    """
    first, last = pieces.index(amount.pieces[0]), pieces.index(amount.pieces[-1])
    # Portuguese a: "liga a ventoinha 2" aims at no number, the thing is between them
    is_named = first > 0 and bool(things(pieces[first - 1].senses) - quantities().keys())
    before = pieces[max(0, first - 2) : first] if not is_named else ()
    beside = (*before, *pieces[last + 1 : last + 1 + verb_final])
    said = {sense for piece in pieces for sense in piece.senses}
    by = {"step"} if said & RELATIVE else set()
    return any("aim" in piece.senses and by.isdisjoint(piece.senses) for piece in beside)


def is_step(amount: Amount, pieces: Sequence[Piece]) -> bool:
    """Return true if a number is by how much: by 10, um 10 Grad, 10 degrees more, down 10 %."""
    first, last = pieces.index(amount.pieces[0]), pieces.index(amount.pieces[-1])
    before = pieces[first - 1].senses if first else ()
    behind = next((one.senses for one in pieces[last + 1 :] if one.senses != ("stop",)), ())
    if "aim" not in before and not {"step", "way"}.isdisjoint(before):
        return True
    # Down behind a number that is aimed at only says the same again: auf 18 Grad runter
    ways = {"way"} if all("aim" not in one.senses for one in pieces[:first]) else set()
    return not {"step", *RELATIVE, *ways}.isdisjoint(behind)


def _is_nameable(piece: Piece) -> bool:
    return (actions() | values() | marks()).isdisjoint(piece.senses)


def clauses_of(analysis: Analysis) -> tuple[Clause, ...]:
    """Return the clauses that say something; one empty clause when none does."""
    long = len(analysis.text.strip()) > MAX_ORDER_CHARS
    found = [
        replace(clause, doubted=clause.doubted or long, code=analysis.code)
        for number, sentence in enumerate(_sentences(_without_quotes(analysis)))
        for clause in _coloured(list(_cut(sentence, lexicon(analysis.code).verb_final)), number)
    ]
    return tuple(found) or (Clause((), frozenset()),)


def _is_unknown(piece: Piece) -> bool:
    if piece.known or piece.number is not None or piece.kind in {UnitKind.MARK, UnitKind.PATH}:
        return "other" in piece.senses
    return True


def _sentences(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    sentence: list[Piece] = []
    pieces = list(pieces)
    for position, piece in enumerate(pieces):
        sentence.append(piece)
        after = pieces[position + 1 : position + 2]
        full_stop = piece.text == "." and not (after and after[0].glued)
        if piece.kind is UnitKind.MARK and (piece.text in _SENTENCE_ENDS or full_stop):
            yield sentence
            sentence = []
    yield sentence


def _cut(sentence: list[Piece], verb_final: bool) -> Iterator[list[Piece]]:  # noqa: FBT001 - a fact of the language
    clause: list[Piece] = []
    for piece in sentence:
        if _begins_another(clause, piece, verb_final=verb_final):
            yield clause
            clause = []
        clause.append(piece)
        if "join" in piece.senses or "but" in piece.senses or piece.text in _CLAUSE_ENDS:
            yield clause
            clause = []
    yield clause


def _begins_another(clause: list[Piece], piece: Piece, *, verb_final: bool) -> bool:
    before = Clause(tuple(clause), frozenset())
    if verb_final:
        return bool(before.actions and things(piece.senses))
    news = actions() & frozenset(piece.senses)
    return bool(news and before.things and before.actions and not news & before.actions)


def _coloured(sentence: list[list[Piece]], number: int) -> Iterator[Clause]:
    everything = [piece for clause in sentence for piece in clause]
    said = {sense for piece in everything for sense in piece.senses}
    colours = said & _COLOURS
    if "particle" in said or any("?" in piece.text for piece in everything):
        colours.add("question")
    if any(piece.kind is UnitKind.NUMBER and ":" in piece.text for piece in everything):
        colours.add("later")
    if not said.isdisjoint({"ask", "fact"}) and not said.isdisjoint(actions()):
        # An order does not ask: "what", "how" and "who" before it make a question of it
        colours.add("question")
    clauses = [Clause(tuple(pieces), frozenset(colours), number) for pieces in sentence]
    for clause in _doubted(clauses):
        if clause.weighs:
            others = [piece for piece in everything if piece not in clause.pieces]
            yield replace(clause, put_off=any("later" in piece.senses for piece in others))


def _doubted(sentence: list[Clause]) -> list[Clause]:
    """Mark the clauses that a denial elsewhere reaches, up to a `but`."""
    result: list[Clause] = []
    stretch: list[Clause] = []
    for clause in sentence:
        stretch.append(clause)
        if "but" in clause.senses or clause is sentence[-1]:
            denied = any("negate" in one.senses for one in stretch)
            doubted = [
                replace(one, doubted=denied and "negate" not in one.senses) for one in stretch
            ]
            result += [
                # Stop, to turn the pump on
                replace(one, colours=one.colours | {"negate"}) if _only_denies(before) else one
                for before, one in zip((None, *stretch), doubted, strict=False)
            ]
            stretch = []
    return result


def _only_denies(clause: Clause | None) -> bool:
    """Return true if a clause denies, and says nothing of what it denies."""
    return clause is not None and "negate" in clause.senses and not clause.weighs


def _without_quotes(analysis: Analysis) -> list[Piece]:
    """Mark quoted orders as reports: a quotation orders nothing."""
    result: list[Piece] = []
    closing = ""
    for piece in analysis.pieces:
        if piece.kind is UnitKind.MARK and piece.text == closing:
            closing = ""
        elif piece.kind is UnitKind.MARK and not closing:
            closing = _OPENING.get(piece.text, "")
        elif closing and not (actions() | values()).isdisjoint(piece.senses):
            piece = replace(piece, senses=(*piece.senses, "report"))  # noqa: PLW2901 - the same piece, seen in its place
        result.append(piece)
    return result
