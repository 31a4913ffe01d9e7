"""WordPiece: texts to token ids, for models that split as BERT does.

Does what the library `tokenizers` does with such a description, which takes 14 MB more. Characters
that Unicode has known for a few years only may be split otherwise.
"""

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

# Signs that stand for a word each, as the library has them: one of its blocks begins late
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_REPLACEMENT = "\ufffd"
_SPACES_KEPT = "\t\n\r"
# Of plain text without control characters, a word or a sign
_PLAIN = re.compile(r"[\t\n\r -~]*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
# Distinct characters of a household's texts
_KNOWN_CHARACTERS = 8192
# The words that are said most, and what the search for the longest piece passes on the way
_KNOWN_PIECES = 4096
_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}

_Span = tuple[int, int]


class _Added(msgspec.Struct, frozen=True):
    id: int
    content: str
    special: bool
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool


class _Model(msgspec.Struct, frozen=True):
    type: str
    vocab: dict[str, int]
    unk_token: str = ""
    continuing_subword_prefix: str = ""
    max_input_chars_per_word: int = 0


class _Description(msgspec.Struct, frozen=True):
    """As much of `tokenizer.json` as decides how a text is split."""

    model: _Model
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None
    added_tokens: tuple[_Added, ...] = ()


class Pieces(msgspec.Struct, frozen=True):
    """A text in pieces.

    Args:
        offsets: where in the text each piece is; nowhere for what begins and ends it.
        special_tokens_mask: 1 for what begins and ends it.
    """

    ids: list[int]
    offsets: list[_Span]
    special_tokens_mask: list[int]


class _Vocabulary:
    """Pieces and their ids, in a tenth of the memory that a dictionary takes.

    Args:
        pieces: by piece.
    """

    def __init__(self, pieces: Mapping[str, int]) -> None:
        # Encoded, they are in the same order
        in_order = sorted(pieces)
        self._pieces = "".join(in_order).encode()
        self._ends = array("I", accumulate(len(piece.encode()) for piece in in_order))
        self._ids = array("I", map(pieces.__getitem__, in_order))
        self._places = range(len(in_order))
        # A household says the same words again and again
        self.id_of = lru_cache(maxsize=_KNOWN_PIECES)(self._id_of)

    def _id_of(self, piece: str) -> int | None:
        wanted = piece.encode(errors="replace")
        place = bisect_left(self._places, wanted, key=self._piece)
        is_there = place in self._places and self._piece(place) == wanted
        return self._ids[place] if is_there else None

    def _piece(self, place: int) -> bytes:
        return self._pieces[self._ends[place - 1] if place else 0 : self._ends[place]]


class WordPiece:
    """Splits texts.

    Args:
        around: ids before and after each text.
    """

    # Letters are read without their accents and tones
    drops_marks = True

    def __init__(
        self,
        model: _Model,
        added: Mapping[str, int],
        around: tuple[list[int], list[int]],
        most: int,
    ) -> None:
        self.unknown = model.vocab[model.unk_token]
        self._id_of = _Vocabulary(model.vocab).id_of
        self._prefix = model.continuing_subword_prefix
        self._most_chars = model.max_input_chars_per_word
        self._added = added
        longest_first = sorted(added, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._around = around
        self._most = most

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Pieces:
        """Return the first pieces of the text, as many as the model takes."""
        before, after = self._around if add_special_tokens else ([], [])
        room = max(0, self._most - len(before) - len(after))
        ids, spans = list(before), [(0, 0)] * len(before)
        for piece, span in self._pieces(text):
            if len(ids) - len(before) == room:
                break
            ids.append(piece)
            spans.append(span)
        own = len(ids) - len(before)
        mask = [1] * len(before) + [0] * own + [1] * len(after)
        return Pieces([*ids, *after], spans + [(0, 0)] * len(after), mask)

    def _pieces(self, text: str) -> Iterator[tuple[int, _Span]]:
        start = 0
        for mark in self._marks.finditer(text):
            yield from self._between(text, start, mark.start())
            yield self._added[mark[0]], mark.span()
            start = mark.end()
        yield from self._between(text, start, len(text))

    def _between(self, text: str, start: int, end: int) -> Iterator[tuple[int, _Span]]:
        """Yield the pieces of a part of the text that holds no mark of the model's own."""
        part = text[start:end]
        if _PLAIN.fullmatch(part):
            for found in _PLAIN_WORD.finditer(part.lower()):
                at = start + found.start()
                for piece, first, last in self._of_word(found[0]):
                    yield piece, (at + first, at + last)
            return
        for word, places in _words(part):
            for piece, first, last in self._of_word(word):
                yield piece, (start + places[first], start + places[last - 1] + 1)

    def _of_word(self, word: str) -> list[tuple[int, int, int]]:
        """Return the longest pieces that the model knows, from the left; or all as unknown."""
        unknown = [(self.unknown, 0, len(word))]
        if len(word) > self._most_chars:
            return unknown
        found: list[tuple[int, int, int]] = []
        start, prefix = 0, ""
        while start < len(word):
            end = len(word)
            while (piece := self._id_of(prefix + word[start:end])) is None:
                end -= 1
                if end == start:
                    return unknown
            found.append((piece, start, end))
            start, prefix = end, self._prefix
        return found


def read(path: Path, most: int) -> WordPiece | None:
    """Return what splits by this description; None for one of another kind.

    Args:
        most: pieces of a text, those that begin and end it counted.
    """
    try:
        told = msgspec.json.decode(path.read_bytes(), type=_Description)
    except msgspec.DecodeError:
        return None
    is_bert = told.normalizer == _NORMALIZER and told.pre_tokenizer == {"type": "BertPreTokenizer"}
    is_whole = told.model.type == "WordPiece" and told.model.unk_token in told.model.vocab
    around = _around(told.post_processor)
    is_plain = all(
        one.special and not (one.single_word or one.lstrip or one.rstrip or one.normalized)
        for one in told.added_tokens
    )
    if not (is_bert and is_whole and is_plain) or around is None:
        return None
    return WordPiece(told.model, {one.content: one.id for one in told.added_tokens}, around, most)


def _around(post_processor: Any) -> tuple[list[int], list[int]] | None:
    """Return the ids before and after a text; None where they are put otherwise."""
    try:
        if post_processor["type"] != "TemplateProcessing":
            return None
        special, parts = post_processor["special_tokens"], post_processor["single"]
        names = [part.get("SpecialToken", {}).get("id") for part in parts]
        [place] = [number for number, part in enumerate(parts) if "Sequence" in part]
        found = [
            [one for name in side for one in special[name]["ids"]]
            for side in (names[:place], names[place + 1 :])
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return found[0], found[1]


def _words(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield each word or sign as the model reads it, with the places of its letters."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in _read_as(character):
            if not (is_sign := _is_sign(letter)) and not letter.isspace():
                letters.append(letter)
                places.append(place)
                continue
            if letters:
                yield "".join(letters), places
                letters, places = [], []
            if is_sign:
                yield letter, [place]
    if letters:
        yield "".join(letters), places


@lru_cache(maxsize=_KNOWN_CHARACTERS)
def _read_as(character: str) -> str:
    """Return the letters that stand for a character: small, without marks, signs apart."""
    if character in _SPACES_KEPT:
        return " "
    category = unicodedata.category(character)
    if character == _REPLACEMENT or category in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if character.isspace():
        return " "
    bare = "".join(
        one for one in unicodedata.normalize("NFD", character) if unicodedata.category(one) != "Mn"
    )
    small = "".join(one.lower() for one in bare)
    is_word = any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)
    return f" {small} " if is_word else small


@lru_cache(maxsize=_KNOWN_CHARACTERS)
def _is_sign(letter: str) -> bool:
    if letter.isascii():
        return _PLAIN_WORD.fullmatch(letter) is not None and not letter.isalnum()
    return unicodedata.category(letter)[0] == "P"
