"""Styled text, from which each platform's form is made.

Ranges count characters of Python; what a platform counts is measured at its edge.
"""

import enum
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace


class Style(enum.Enum):
    """Style of a span; in order of nesting, outermost first."""

    # Somebody else's words
    QUOTE = "quote"
    # `value` is where it leads
    LINK = "link"
    BOLD = "bold"
    ITALIC = "italic"
    STRIKE = "strike"
    # In a line
    CODE = "code"
    # Lines of their own; `value` is the language
    BLOCK = "block"


class StyledSpan(Struct, frozen=True):
    """A style from `start` up to, not including, `end`."""

    start: int
    end: int
    style: Style
    value: str = ""

    def moved(self, by: int) -> "StyledSpan":
        return replace(self, start=self.start + by, end=self.end + by)


class Styled(Struct, frozen=True):
    """Text and its styles; spans nest."""

    text: str
    spans: tuple[StyledSpan, ...] = ()

    def cut(self, start: int, end: int) -> "Styled":
        """Return a part with its styles."""
        spans = (
            StyledSpan(
                max(span.start, start) - start, min(span.end, end) - start, span.style, span.value
            )
            for span in self.spans
        )
        return Styled(self.text[start:end], tuple(span for span in spans if span.start < span.end))

    def without(self, *styles: Style) -> "Styled":
        return Styled(self.text, tuple(span for span in self.spans if span.style not in styles))


def joined(pieces: Iterable[Styled], between: str) -> Styled:
    """Join texts into one."""
    text, spans = "", list[StyledSpan]()
    for number, piece in enumerate(pieces):
        text += between if number else ""
        spans += [span.moved(len(text)) for span in piece.spans]
        text += piece.text
    return Styled(text, tuple(spans))


def utf16_units(text: str) -> int:
    """Return the length in UTF-16 units, as Telegram and Signal count."""
    return len(text) + sum(char > "\uffff" for char in text)


def utf8_bytes(text: str) -> int:
    """Return the length in bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))
