"""A sentence about time as tokens: durations, tagged words, and what is neither.

What is neither may be a name. Nothing is skipped: whoever reads the tokens accounts for them all.
"""

import enum
from collections.abc import Iterator, Sequence

from msgspec import Struct

from agent.providers.offline.counts import count_at
from agent.providers.offline.durations import Duration, duration_at
from agent.providers.offline.time_vocabulary import (
    LIGHT,
    FoundForm,
    TimeVocabulary,
    continues,
    time_vocabulary,
    units_of,
)
from agent.providers.offline.units import UNSPACED, Unit, UnitKind

# Punctuation that parts nothing
_LIGHT_MARKS = frozenset(",.!?;:、，。！？¿¡\"'“”„「」『』‘’")
# What ends a sentence where more is said after it
_ENDS = frozenset(".!?。！？;\n")
# What a Korean word may end in and still be the word
_PARTICLES = ("으로", "를", "을", "는", "은", "의", "에", "로")
_OTHER = frozenset[str]()
# What may begin inside a run of letters
_BEGINNING = frozenset({"timer", "timers", "remind"})


class TokenKind(enum.Enum):
    """Kind of a token."""

    # How long
    DURATION = "duration"
    # A number without a unit
    NUMBER = "number"
    # Words with tags
    TAGGED = "tagged"
    # A place in an order: the second
    ORDINAL = "ordinal"
    # Anything else
    UNKNOWN = "unknown"


class TimeToken(Struct, frozen=True):
    """Units from `start` up to `end`.

    Args:
        cut: letters of its last unit that belong to the next token.
    """

    kind: TokenKind
    start: int
    end: int
    tags: frozenset[str] = _OTHER
    duration: Duration | None = None
    number: float = 0.0
    cut: int = 0

    def has(self, *tags: str) -> bool:
        return not self.tags.isdisjoint(tags)


class Sentence(Struct, frozen=True):
    """Tidy text with its units and tokens."""

    text: str
    code: str
    units: tuple[Unit, ...]
    tokens: tuple[TimeToken, ...]

    def place(self, token: TimeToken) -> tuple[int, int]:
        """Return its beginning and end in the text."""
        return self.units[token.start].start, self.units[token.end - 1].end - token.cut

    def words(self, token: TimeToken) -> str:
        """Return the text of a token."""
        start, end = self.place(token)
        return self.text[start:end]

    @property
    def tags(self) -> frozenset[str]:
        return _OTHER.union(*(token.tags for token in self.tokens))


def sentence_of(text: str, code: str) -> Sentence:
    """Return the tokens of a text."""
    units = units_of(text)
    return Sentence(text, code, units, tuple(_Cutter(units, time_vocabulary(code)).tokens()))


class _Cutter:
    """Cutter of units into tokens; goes over them once."""

    def __init__(self, units: Sequence[Unit], own: TimeVocabulary) -> None:
        self._units = units
        self._own = own

    def tokens(self) -> Iterator[TimeToken]:
        position = 0
        while position < len(self._units):
            for token in self._at(position):
                yield token
                position = token.end

    def _at(self, position: int) -> list[TimeToken]:
        unit = self._units[position]
        if unit.kind is UnitKind.MARK and unit.text in _LIGHT_MARKS:
            ends = unit.text in _ENDS and position + 1 < len(self._units)
            tags = frozenset({"end"}) if ends else frozenset({LIGHT})
            return [TimeToken(TokenKind.TAGGED, position, position + 1, tags)]
        known = self._known(position)
        return [known] if known is not None else self._unknown(position)

    def _known(self, position: int) -> TimeToken | None:
        if self._is_inside(position):
            return None
        ordinal = self._own.ordinals.at(self._units, position)
        duration = duration_at(self._units, position, self._own.code)
        found = self._own.tags.at(self._units, position)
        if duration is not None and not self._is_counted(duration):
            tags = frozenset({"add"}) if duration.is_more else _OTHER
            return TimeToken(TokenKind.DURATION, position, duration.end, tags, duration)
        if ordinal is not None and (found is None or ordinal.end >= found.end):
            place = float(ordinal.values[0])
            return TimeToken(TokenKind.ORDINAL, position, ordinal.end, number=place)
        count = count_at(self._units, position, self._own.code)
        if count is not None and (found is None or found.end < count.end):
            return TimeToken(TokenKind.NUMBER, position, count.end, number=count.value)
        return None if found is None else self._tagged(position, found)

    def _tagged(self, position: int, found: FoundForm) -> TimeToken:
        return TimeToken(TokenKind.TAGGED, position, found.end, frozenset(found.values))

    def _is_counted(self, duration: Duration) -> bool:
        """Return true for a second that is a unit of time: "a second timer" is another timer."""
        if not duration.by_article or duration.end >= len(self._units):
            return False
        last = self._own.ordinals.at(self._units, duration.end - 1)
        after = self._own.tags.at(self._units, duration.end)
        return last is not None and after is not None and "timer" in after.values

    def _is_inside(self, position: int) -> bool:
        """Return true in the middle of a foreign word, where no word begins."""
        if position == 0 or not self._units[position].glued:
            return False
        both = all(_is_katakana(unit) for unit in self._units[position - 1 : position + 1])
        return both and not self._is_noun(position)

    def _is_noun(self, position: int) -> bool:
        found = self._own.tags.at(self._units, position)
        return found is not None and not _BEGINNING.isdisjoint(found.values)

    def _unknown(self, position: int) -> list[TimeToken]:
        unit = self._units[position]
        if unit.kind is UnitKind.WORD:
            return self._compound(position)
        if unit.kind is UnitKind.HANGUL:
            return self._run(position)
        end = position + 1
        if unit.kind in UNSPACED:
            while end < len(self._units) and self._goes_on(unit, end):
                end += 1
        return [TimeToken(TokenKind.UNKNOWN, position, end)]

    def _goes_on(self, first: Unit, position: int) -> bool:
        unit = self._units[position]
        return unit.kind is first.kind and unit.glued and self._known(position) is None

    def _compound(self, position: int) -> list[TimeToken]:
        """Cut a word that ends in "timer": its beginning is the timer's name."""
        text = self._units[position].text
        noun = next((one for one in self._own.nouns if text.endswith(one) and text != one), "")
        if not noun or len(noun) < _SHORTEST_NOUN:
            return [TimeToken(TokenKind.UNKNOWN, position, position + 1)]
        return [
            TimeToken(TokenKind.UNKNOWN, position, position + 1, cut=len(noun)),
            TimeToken(TokenKind.TAGGED, position, position + 1, frozenset({"timer"})),
        ]

    def _run(self, position: int) -> list[TimeToken]:
        """Cut a Korean word, without its ending; a timer may be its end."""
        end = position + 1
        while continues(self._units, end, UnitKind.HANGUL) and not self._is_noun(end):
            end += 1
        is_whole = not continues(self._units, end, UnitKind.HANGUL)
        word = "".join(unit.text for unit in self._units[position:end])
        tail = next((one for one in _PARTICLES if word.endswith(one) and len(word) > len(one)), "")
        if not is_whole or not tail:
            return [TimeToken(TokenKind.UNKNOWN, position, end)]
        stem = end - len(tail)
        return [
            TimeToken(TokenKind.UNKNOWN, position, stem),
            TimeToken(TokenKind.TAGGED, stem, end, frozenset({LIGHT, "place"})),
        ]


def _is_katakana(unit: Unit) -> bool:
    return unit.kind is UnitKind.KANA and unit.text >= "\u30a1"


# Shorter ones end many words
_SHORTEST_NOUN = 5
