"""Base of the grammars: allowed options of a program, and the allowed form of each word.

A grammar only reads words; it never changes one. What it does not name is refused: options in
short, options that start a program or write a file, and long options that are not written out.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from agent.errors import PathRefused
from agent.security.paths import HERE, parts_of

# Why a word cannot stand where it stands; empty if it can
Value = Callable[[str], str]
# Where long results are kept: each has a trust of its own, which a program would not tell
KEPT_RESULTS = ".results"

_NUMBER = re.compile(r"[+-]?[0-9]{1,12}[bkKMGT]?")
_LIST = re.compile(r"[0-9,-]{1,200}")
_SIZE = re.compile(r"[0-9]{0,9}([kKMGTPE](i?B)?)?|si|human-readable")
_NAMES = re.compile(r"[A-Za-z0-9_,-]{1,200}")


class Grammar(Struct, frozen=True):
    """Grammar of the words after a program's name.

    Args:
        flags: letters that stand alone behind one dash, in any number.
        long: options that are written out and stand alone, with their dashes.
        valued: options with a value that must not be left out, with their dashes; one whose value
            may be left out stands in `long`, with its value.
        attached: options whose value may be left out, and otherwise stands in the same word.
        pairs: long options with a name in the next word and a value in the one after it.
        words: what the operands have to be, one for each in turn.
        rest: what further operands have to be; None where there are none.
        least: how many operands there are at least.
        given_by: options that stand for the first of `words`, such as the pattern of grep.
        reads: None where `options and operands` is not how the program reads its words.
    """

    flags: str = ""
    long: frozenset[str] = frozenset()
    valued: Mapping[str, Value] = field(default_factory=dict)
    attached: Mapping[str, Value] = field(default_factory=dict)
    pairs: Mapping[str, Value] = field(default_factory=dict)
    words: tuple[Value, ...] = ()
    rest: Value | None = None
    least: int = 0
    given_by: frozenset[str] = frozenset()
    reads: Callable[[Sequence[str]], str] | None = None

    def complaint(self, words: Sequence[str]) -> str:
        """Return the reason to refuse these words; "" if the program may get them."""
        if self.reads is not None:
            return self.reads(words)
        return _Reading(self, iter(words)).complaint()


class _Reading:
    """One pass over the words, as GNU programs read them: options may follow operands."""

    def __init__(self, grammar: Grammar, words: Iterator[str]) -> None:
        self._grammar = grammar
        self._words = words
        self._operands: list[str] = []
        self._expected = list(grammar.words)
        self._least = grammar.least

    def complaint(self) -> str:
        for word in self._words:
            if word == "--":
                self._operands.extend(self._words)
            elif word.startswith("--"):
                if complaint := self._long(word):
                    return complaint
            elif word.startswith("-") and word != "-":
                if complaint := self._short(word):
                    return complaint
            else:
                self._operands.append(word)
        return self._operand_complaint()

    def _long(self, word: str) -> str:
        name, has_value, value = word.partition("=")
        if name in self._grammar.valued:
            return self._value(name, value if has_value else None)
        if name in self._grammar.attached:
            return self._grammar.attached[name](value) if has_value else ""
        if word in self._grammar.pairs:
            return self._pair(word)
        return "" if word in self._grammar.long else f"{_shown(name)} is not an allowed option"

    def _short(self, word: str) -> str:
        for place, letter in enumerate(word[1:], start=2):
            if f"-{letter}" in self._grammar.valued:
                return self._value(f"-{letter}", word[place:] or None)
            if f"-{letter}" in self._grammar.attached:
                return word[place:] and self._grammar.attached[f"-{letter}"](word[place:])
            if letter not in self._grammar.flags:
                return f"{_shown(f'-{letter}')} is not an allowed option"
        return ""

    def _value(self, name: str, value: str | None) -> str:
        if value is None and (value := next(self._words, None)) is None:
            return f"{name} needs a value"
        if name in self._grammar.given_by and len(self._expected) == len(self._grammar.words):
            del self._expected[0]
            self._least = max(self._least - 1, 0)
        complaint = self._grammar.valued[name](value)
        return complaint and f"{name}: {complaint}"

    def _pair(self, name: str) -> str:
        if next(self._words, None) is None or (value := next(self._words, None)) is None:
            return f"{name} needs a name and a value"
        return self._grammar.pairs[name](value)

    def _operand_complaint(self) -> str:
        if len(self._operands) < self._least:
            return f"it needs {self._least} operands"
        kinds = iter(self._expected)
        for operand in self._operands:
            kind = next(kinds, self._grammar.rest)
            if kind is None:
                return f"{_shown(operand)} is one operand too many"
            if complaint := kind(operand):
                return complaint
        return ""


def path(word: str) -> str:
    """Accept a relative path of the workspace."""
    plain = word.removeprefix("./")
    plain = plain.removesuffix("/") if len(plain) > 1 else plain
    if plain in {HERE, ""} and word:
        return ""
    try:
        parts = parts_of(plain)
    except PathRefused as err:
        return str(err)
    return f"only file_read reads {KEPT_RESULTS}" if parts[0] == KEPT_RESULTS else ""


def text(word: str) -> str:
    """Accept any text: the program only searches for it or prints it."""
    del word
    return ""


def number(word: str) -> str:
    return "" if _NUMBER.fullmatch(word) else f"{_shown(word)} is not a number"


def ranges(word: str) -> str:
    """Accept ranges such as 1,3-5."""
    return "" if _LIST.fullmatch(word) else f"{_shown(word)} is not a list of numbers"


def size(word: str) -> str:
    """Accept a block size such as 4K or M."""
    return "" if _SIZE.fullmatch(word) else f"{_shown(word)} is not a size"


def text_list(word: str) -> str:
    """Accept names with commas between them."""
    return "" if _NAMES.fullmatch(word) else f"{_shown(word)} is not a list of names"


def one_of(*choices: str) -> Value:
    def complaint(word: str) -> str:
        return "" if word in choices else f"{_shown(word)} is not one of {', '.join(choices)}"

    return complaint


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:40]}...")  # noqa: PLR2004 - to know it by
