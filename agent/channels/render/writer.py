"""Markdown writer: turns styled text into Markdown again.

Reading it gives the same text. Where a style cannot be written in its place it is left out.
"""

from collections.abc import Iterator
from itertools import pairwise

from agent.channels.render.parser import read
from agent.channels.render.plain import spelled
from agent.channels.render.styled import Style, Styled, StyledSpan

_MARKS = {Style.BOLD: "**", Style.ITALIC: "*", Style.STRIKE: "~~"}
_ESCAPED = frozenset("\\`*_{}[]()<>#+-!|~&=")
_ORDER = {style: place for place, style in enumerate(Style)}
# From much to nothing: what is given up until the text is read as it was written
_GIVEN_UP: tuple[frozenset[Style], ...] = (
    frozenset(),
    frozenset(_MARKS),
    frozenset({*_MARKS, Style.CODE}),
)


def written(styled: Styled) -> str:
    """Return Markdown that parses as this text."""
    text = spelled(styled).text
    for given_up in _GIVEN_UP:
        markdown = _written(styled.without(*given_up))
        if spelled(read(markdown)).text == text:
            return markdown
    plainly = _plainly(styled)
    # Without its blocks of code nothing is left that could be read in another way
    return plainly if spelled(read(plainly)).text == text else _written(Styled(text))


def _plainly(styled: Styled) -> str:
    """Write quotes and links as characters; code blocks stay."""
    return _written(
        spelled(styled).without(*(style for style in Style if style is not Style.BLOCK))
    )


def _written(styled: Styled) -> str:
    """Write block by block: quotes and code blocks need lines of their own."""
    pieces = []
    for start, end, outer in _stretches(styled):
        piece = styled.cut(start, end)
        text = piece.text.strip("\n")
        if any(span.style is Style.BLOCK for span in outer):
            pieces.append(_fenced(piece.text, outer))
        elif text:
            lead = len(piece.text) - len(piece.text.lstrip("\n"))
            pieces.append(_lines(piece.cut(lead, lead + len(text)).without(Style.QUOTE)))
        else:
            continue
        if any(span.style is Style.QUOTE for span in outer):
            pieces[-1] = "\n".join(f"> {line}" for line in pieces[-1].split("\n"))
    return "\n\n".join(pieces)


def _stretches(styled: Styled) -> Iterator[tuple[int, int, list[StyledSpan]]]:
    """Yield the stretches of quotes and code blocks."""
    outer = [span for span in styled.spans if span.style in {Style.QUOTE, Style.BLOCK}]
    places = sorted({0, len(styled.text), *(p for span in outer for p in (span.start, span.end))})
    for start, end in pairwise(places):
        yield start, end, [span for span in outer if span.start <= start < span.end]


def _fenced(text: str, outer: list[StyledSpan]) -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    language = next(span.value for span in outer if span.style is Style.BLOCK)
    # No dot: what is left of an address would be one
    language = "".join(char for char in language if char.isalnum() or char in "+-#_")
    return f"{ticks}{language}\n{text}\n{ticks}"


def _lines(styled: Styled) -> str:
    """Write marks line by line: no style crosses a line end."""
    lines, start = [], 0
    for line in styled.text.split("\n"):
        lines.append(_line(styled.cut(start, start + len(line))))
        start += len(line) + 1
    return "\n".join(lines)


def _line(styled: Styled) -> str:
    spans = [span for one in styled.spans if (span := _trimmed(styled.text, one)) is not None]
    places = sorted({0, len(styled.text), *(p for span in spans for p in (span.start, span.end))})
    out, opened = "", list[StyledSpan]()
    for start, end in pairwise(places):
        inside = sorted(
            (span for span in spans if span.start <= start < span.end),
            key=lambda span: (_ORDER[span.style], span.start),
        )
        kept = sum(1 for before, after in zip(opened, inside, strict=False) if before == after)
        out += "".join(_closing(span) for span in reversed(opened[kept:]))
        out += "".join(_opening(span) for span in inside[kept:])
        opened = inside
        out += _content(styled.text, start, end, inside)
    return out + "".join(_closing(span) for span in reversed(opened))


def _trimmed(text: str, span: StyledSpan) -> StyledSpan | None:
    """Move marks from spaces to letters."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    end = span.end - (len(inner) - len(inner.rstrip()))
    return StyledSpan(start, end, span.style, span.value) if start < end else None


def _content(text: str, start: int, end: int, inside: list[StyledSpan]) -> str:
    if any(span.style is Style.CODE for span in inside):
        return _code(text[start:end])
    kept = range(len(text) - len(text.lstrip()), len(text.rstrip()))
    return "".join(_char(text, place, is_edge=place not in kept) for place in range(start, end))


def _code(text: str) -> str:
    ticks = "`"
    while ticks in text:
        ticks += "`"
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _char(text: str, place: int, *, is_edge: bool) -> str:
    char = text[place]
    if is_edge:
        # Spaces at the ends of lines would be dropped
        return f"&#{ord(char)};"
    # A number of a list; elsewhere a sign before a dot would only look like half an address
    is_numbering = char == "." and text[max(place - 1, 0)].isdigit()
    return f"\\{char}" if char in _ESCAPED or is_numbering else char


def _opening(span: StyledSpan) -> str:
    if span.style is Style.LINK:
        return "["
    return _MARKS.get(span.style, "")


def _closing(span: StyledSpan) -> str:
    if span.style is Style.LINK:
        address = "".join(f"\\{char}" if char in "\\<>" else char for char in span.value)
        return f"](<{address}>)"
    return _MARKS.get(span.style, "")
