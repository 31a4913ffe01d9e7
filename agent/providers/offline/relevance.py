"""Relevance of memories to a question: words that both have, in any of the languages."""

from collections.abc import Sequence

from msgspec import Struct

from agent.providers.offline.pieces import Analysis, Piece, analyse, stem
from agent.providers.offline.senses import actions, marks
from agent.providers.offline.units import UNSPACED, UnitKind

# All words of the question are in the memory, give or take one of many
CLEAR = 0.75
# Some of them are: it may be what was meant, and may not
FAINT = 0.3


class RecalledMemory(Struct, frozen=True):
    """Recalled memory as its tool told it."""

    key: str
    content: str


class Match(Struct, frozen=True):
    """Memory, and the share of the question's words that it has."""

    memory: RecalledMemory
    share: float


def matches(question: Analysis, memories: Sequence[RecalledMemory]) -> list[Match]:
    """Return memories with at least one word of the question, best first, in order on a draw."""
    asked = _keys(question)
    if not asked:
        return []
    scored = [Match(memory, _share(asked, memory, question.code)) for memory in memories]
    return sorted((one for one in scored if one.share > 0), key=lambda one: -one.share)


def _share(asked: frozenset[str], memory: RecalledMemory, code: str) -> float:
    told = _keys(analyse(memory.content, code))
    return len(asked & told) / len(asked)


def _keys(analysis: Analysis) -> frozenset[str]:
    """Return the keys of a text: senses of its things, stems of its words, pairs of characters."""
    return frozenset(key for piece in analysis.pieces for key in _piece_keys(piece))


def _piece_keys(piece: Piece) -> list[str]:
    if piece.kind is UnitKind.MARK:
        return []
    if piece.known and "other" not in piece.senses:
        # What is done with it and how it is meant differs between telling and asking
        return [sense for sense in piece.senses if sense not in marks() | actions()]
    if piece.kind not in UNSPACED:
        return [f"~{stem(piece.text)}"]
    if len(piece.text) == 1:
        # One syllable or kana is grammar, one Chinese character is a word
        return [f"~{piece.text}"] if piece.kind is UnitKind.HAN else []
    return [f"~{piece.text[i : i + 2]}" for i in range(len(piece.text) - 1)]
